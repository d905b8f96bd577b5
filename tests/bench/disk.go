package main

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// storeTime bounds the reading of what is on the disk.
const storeTime = time.Minute

// lastHint returns how many hints were ever stored in the folder of a process that has ended.
func lastHint(ctx context.Context, dir string) (uint64, error) {
	s, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: dir})
	if err != nil {
		return 0, err
	}
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(storeTime) {
		return 0, errors.New("NATS was not ready in time")
	}
	conn, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return 0, err
	}
	stream, err := js.Stream(ctx, "HINTS")
	if err != nil {
		return 0, err
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return 0, err
	}
	return info.State.LastSeq, nil
}
