// Package natsserver starts the NATS servers that tests give to Reroll.
package natsserver

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// startTime bounds the start of a server on a slow machine.
const startTime = time.Minute

// Start runs a server with JetStream, which waits for the disk, until the test ends. It listens at a free port of 127.0.0.1 and has its files in
// a folder of the test, unless change says otherwise.
func Start(t testing.TB, change ...func(*server.Options)) *server.Server {
	t.Helper()
	o := &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		JetStream: true, SyncAlways: true, JetStreamMaxStore: 4 << 30, JetStreamMaxMemory: 64 << 20,
	}
	for _, c := range change {
		c(o)
	}
	if o.StoreDir == "" {
		o.StoreDir = t.TempDir()
	}
	return Run(t, o)
}

// Run runs a server with these very options until the test ends.
func Run(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { Stop(s) })
	if !s.ReadyForConnections(startTime) {
		t.Fatalf("NATS was not ready within %s", startTime)
	}
	return s
}

// Stop ends a server and waits until it has let go of its files.
func Stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}
