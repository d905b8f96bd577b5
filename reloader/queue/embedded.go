package queue

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// startTime bounds the start of the embedded server; it reads its whole index before it is ready.
const startTime = 30 * time.Second

// maxMemory bounds what short-lived consumers keep in the embedded server's memory.
const maxMemory = 64 << 20

// lockName is the file in the store folder whose lock says who owns the folder. It stays there when nobody does.
const lockName = "reroll.lock"

// embedded is a NATS server inside this process, without a port.
type embedded struct {
	server *server.Server
	lock   *os.File
	dir    string
}

// startEmbedded takes the store folder and starts a server on it.
func startEmbedded(o Options) (*embedded, error) {
	lock, err := lockStore(o.StoreDir)
	if err != nil {
		return nil, err
	}
	s, err := server.NewServer(&server.Options{
		ServerName: o.Name,
		DontListen: true,
		NoSigs:     true,
		NoLog:      true,
		JetStream:  true,
		StoreDir:   filepath.Clean(o.StoreDir),
		// Without this an acknowledged message, and even a whole stream, is lost with the power.
		SyncAlways:         true,
		JetStreamMaxStore:  o.MaxStore,
		JetStreamMaxMemory: maxMemory,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("embedded NATS: %w", err), lock.Close())
	}
	s.SetLoggerV2(serverLog{o.Logger.With("part", "nats")}, false, false, false)
	s.Start()
	e := &embedded{server: s, lock: lock, dir: o.StoreDir}
	if err := e.ready(o.StoreDir); err != nil {
		return nil, errors.Join(err, e.stop(context.Background()))
	}
	e.warnOfDisk(o)
	return e, nil
}

func (e *embedded) ready(dir string) error {
	if !e.server.ReadyForConnections(startTime) {
		return fmt.Errorf("embedded NATS in %s was not ready within %v", dir, startTime)
	}
	if !e.server.JetStreamEnabled() {
		return fmt.Errorf("embedded NATS in %s: JetStream did not start; its log says why", dir)
	}
	return nil
}

// warnOfDisk tells if the disk would be full before the store is.
func (e *embedded) warnOfDisk(o Options) {
	_, free, err := diskSpace(o.StoreDir)
	js, jsErr := e.server.Jsz(nil)
	if err == nil && jsErr == nil && free+int64(js.Store) < o.MaxStore {
		o.Logger.Warn("the disk may be full before the store reaches its limit", "folder", o.StoreDir, "free", free, "limit", o.MaxStore)
	}
}

// InProcessConn connects to the server without a socket.
func (e *embedded) InProcessConn() (net.Conn, error) { return e.server.InProcessConn() }

// healthy says what is wrong with the server, such as a disk that no longer takes writes.
func (e *embedded) healthy() error {
	if h := e.server.Healthz(nil); h.StatusCode != 200 {
		return fmt.Errorf("embedded NATS is %s: %s", h.Status, h.Error)
	}
	return nil
}

// stop flushes and ends the server, and then gives the store folder free. It does not give the folder free if ctx ends first:
// the files may still be written.
func (e *embedded) stop(ctx context.Context) error {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		e.server.Shutdown()
		e.server.WaitForShutdown()
	}()
	select {
	case <-stopped:
		return e.lock.Close()
	case <-ctx.Done():
		return fmt.Errorf("stop embedded NATS: %w", ctx.Err())
	}
}
