package main

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// natsPort and natsStore, in the environment, make this program a NATS server, so that it can be killed as a process.
const (
	natsPort  = "CHAOS_NATS_PORT"
	natsStore = "CHAOS_NATS_STORE"
)

// natsTime bounds the start of the server, which reads its files again after a kill.
const natsTime = time.Minute

// natsProgram returns a server at an address with its files in store.
func natsProgram(address, store, logFile string) (*program, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	return &program{name: "nats", binary: self, env: []string{natsPort + "=" + port, natsStore + "=" + store}, logFile: logFile}, err
}

// serveNATS runs a server with JetStream until the process is ended, if the environment says so. Otherwise it returns false.
func serveNATS() bool {
	port, err := strconv.Atoi(os.Getenv(natsPort))
	if err != nil {
		return false
	}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, NoSigs: true, NoLog: true,
		Cluster:   server.ClusterOpts{NoAdvertise: true}, // nobody shall go around the link
		JetStream: true, StoreDir: os.Getenv(natsStore), SyncAlways: true, JetStreamMaxStore: 4 << 30, JetStreamMaxMemory: 64 << 20,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "NATS:", err)
		os.Exit(1)
	}
	s.Start()
	if !s.ReadyForConnections(natsTime) {
		fmt.Fprintln(os.Stderr, "NATS was not ready in time")
		os.Exit(1)
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	<-end
	s.Shutdown()
	s.WaitForShutdown()
	return true
}
