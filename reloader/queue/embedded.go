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

// errEmbedded and errLogin mark errors that do not pass by themselves.
var errEmbedded, errLogin = errors.New("embedded NATS"), errors.New("how to reach NATS")

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
}

// startEmbedded takes the store folder and starts a server on it.
func startEmbedded(o Options) (*embedded, error) {
	lock, err := lockStore(o.StoreDir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errEmbedded, err)
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
		return nil, errors.Join(fmt.Errorf("%w: %w", errEmbedded, err), lock.Close())
	}
	s.SetLoggerV2(serverLog{o.Logger.With("part", "nats")}, false, false, false)
	s.Start()
	e := &embedded{server: s, lock: lock}
	if err := e.ready(o.StoreDir); err != nil {
		return nil, errors.Join(err, e.stop(context.Background()))
	}
	return e, nil
}

func (e *embedded) ready(dir string) error {
	if !e.server.ReadyForConnections(startTime) {
		return fmt.Errorf("%w in %s was not ready within %v", errEmbedded, dir, startTime)
	}
	if !e.server.JetStreamEnabled() {
		return fmt.Errorf("%w in %s: JetStream did not start; its log says why", errEmbedded, dir)
	}
	return nil
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

// stop flushes and ends the server, and then releases the store folder. It does not release the folder if ctx ends first:
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

// stuckTime is for how long the embedded server may be unhealthy.
const stuckTime = 10 * time.Second

// AwaitStuck returns an error when the embedded server has been unhealthy for stuckTime: after a failed write it stays so, and only another process
// can use the store again. Otherwise it waits until ctx ends.
func (q *Queue) AwaitStuck(ctx context.Context) error {
	for well := time.Now(); pause(ctx, time.Second); {
		if q.embedded == nil || q.life.Err() != nil {
			well = time.Now()
			continue
		}
		err := q.embedded.healthy()
		if err == nil {
			well = time.Now()
		} else if time.Since(well) > stuckTime {
			return err
		}
	}
	return ctx.Err()
}
