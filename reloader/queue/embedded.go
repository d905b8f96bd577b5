package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// embedded is a NATS server inside this process. It has a port only if the operator's configuration says so.
type embedded struct {
	server *server.Server
	lock   *os.File
	// end ends keepConfig.
	end func()
}

// startEmbedded takes the store folder and starts a server on it.
func startEmbedded(o Options) (*embedded, error) {
	lock, err := lockStore(o.StoreDir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errEmbedded, err)
	}
	var s *server.Server
	settings, err := serverOptions(o)
	if err == nil {
		s, err = server.NewServer(settings)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", errEmbedded, err), lock.Close())
	}
	s.SetLoggerV2(serverLog{o.Logger.With("part", "nats")}, false, false, false)
	s.Start()
	e := &embedded{server: s, lock: lock, end: func() {}}
	if err := e.ready(o.StoreDir); err != nil {
		return nil, errors.Join(err, e.stop(context.Background()))
	}
	if o.ConfigFile != "" {
		var ctx context.Context
		ctx, e.end = context.WithCancel(context.Background())
		go e.keepConfig(ctx, o, settings.ConfigDigest())
	}
	return e, nil
}

// serverOptions returns the settings of the embedded server. What is in the operator's file wins, but for where and how it stores.
func serverOptions(o Options) (*server.Options, error) {
	s := &server.Options{DontListen: true}
	if o.ConfigFile != "" {
		var err error
		if s, err = server.ProcessConfigFile(o.ConfigFile); err != nil {
			return nil, fmt.Errorf("configuration %s: %w", o.ConfigFile, err)
		}
	}
	s.ServerName = cmp.Or(s.ServerName, o.Name)
	s.NoSigs, s.NoLog, s.JetStream = true, true, true
	s.StoreDir = filepath.Clean(o.StoreDir)
	// Without this an acknowledged message, and even a whole stream, is lost with the power.
	s.SyncAlways = true
	s.JetStreamMaxStore, s.JetStreamMaxMemory = cmp.Or(s.JetStreamMaxStore, o.MaxStore), cmp.Or(s.JetStreamMaxMemory, maxMemory)
	return s, nil
}

// configCheck is how often the operator's file is read again.
const configCheck = 5 * time.Second

// keepConfig has the server take changes of the operator's file until ctx ends.
func (e *embedded) keepConfig(ctx context.Context, o Options, digest string) {
	for Pause(ctx, configCheck) {
		changed, err := serverOptions(o)
		if err == nil && changed.ConfigDigest() == digest {
			continue
		}
		// Twice: after one reload the server does not listen to what a new account sends to others.
		for range 2 {
			if err == nil {
				digest = changed.ConfigDigest()
				err = e.server.ReloadOptions(changed.Clone())
			}
		}
		if err != nil {
			o.Logger.Error("the changed NATS configuration is not used", "file", o.ConfigFile, "error", err)
			continue
		}
		o.Logger.Info("the changed NATS configuration is in use", "file", o.ConfigFile)
	}
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

// healthy says what is wrong with the server, such as a disk that no longer takes writes. Without one nothing is.
func (e *embedded) healthy() error {
	if e == nil {
		return nil
	}
	if h := e.server.Healthz(nil); h.StatusCode != 200 {
		return fmt.Errorf("embedded NATS is %s: %s", h.Status, h.Error)
	}
	return nil
}

// stop flushes and ends the server, and then releases the store folder. It does not release the folder if ctx ends first:
// the files may still be written.
func (e *embedded) stop(ctx context.Context) error {
	e.end()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		e.server.Shutdown()
		e.server.WaitForShutdown()
	}()
	if err := await(ctx, stopped, "stop embedded NATS"); err != nil {
		return err
	}
	return e.lock.Close()
}

// stuckTime is for how long the embedded server may be unhealthy.
const stuckTime = 10 * time.Second

// AwaitStuck returns an error when the embedded server has been unhealthy for stuckTime: after a failed write it stays so, and only another process
// can use the store again. Otherwise it waits until ctx ends.
func (q *Queue) AwaitStuck(ctx context.Context) error {
	for well := time.Now(); Pause(ctx, time.Second); {
		err := q.embedded.healthy()
		if err == nil {
			well = time.Now()
		} else if time.Since(well) > stuckTime {
			return err
		}
	}
	return ctx.Err()
}
