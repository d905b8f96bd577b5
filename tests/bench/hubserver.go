package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/port"
)

// hubStore, in the environment, makes this program the NATS of a hub with its files there, so that its memory is its own. hubAddress is
// where it listens.
const hubStore, hubAddress = "REROLL_BENCH_HUB_STORE", "REROLL_BENCH_HUB_ADDRESS"

// serveHub runs the NATS of a hub until the process is ended, if the environment says so. Otherwise it returns false.
func serveHub() bool {
	dir := os.Getenv(hubStore)
	if dir == "" {
		return false
	}
	address, err := net.ResolveTCPAddr("tcp", os.Getenv(hubAddress))
	if err != nil {
		fmt.Fprintln(os.Stderr, "NATS:", err)
		os.Exit(1)
	}
	s, err := server.NewServer(&server.Options{
		Host: address.IP.String(), Port: address.Port, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: dir, JetStreamMaxStore: 4 << 30, JetStreamMaxMemory: 64 << 20, SyncAlways: true,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "NATS:", err)
		os.Exit(1)
	}
	s.Start()
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	<-end
	s.Shutdown()
	return true
}

// hub is a NATS in a process of its own, set up as one, which waits for the disk.
type hub struct {
	dir, url  string
	processes []*exec.Cmd
	conn      *nats.Conn
	js        jetstream.JetStream
}

func startHub(ctx context.Context) (*hub, error) {
	dir, err := os.MkdirTemp("", "reroll-bench-hub-")
	if err != nil {
		return nil, err
	}
	h := &hub{dir: dir}
	if err := h.start(ctx); err != nil {
		h.stop()
		return nil, err
	}
	return h, nil
}

func (h *hub) start(ctx context.Context) error {
	addresses, err := port.Addresses(1)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), hubStore+"="+filepath.Join(h.dir, "nats"), hubAddress+"="+addresses[0])
	if err := h.run(cmd); err != nil {
		return err
	}
	h.url = "nats://" + addresses[0]
	err = line.Poll(ctx, func(context.Context) (err error) {
		h.conn, err = nats.Connect(h.url)
		return err
	})
	if err != nil {
		return err
	}
	if h.js, err = jetstream.New(h.conn); err != nil {
		return err
	}
	_, err = queue.Setup(ctx, queue.Options{URL: h.url, MaxStore: 2 << 30, Logger: slog.New(slog.DiscardHandler)}, queue.Layout{Hub: true}, false)
	return err
}

// run starts a process that ends with this one.
func (h *hub) run(cmd *exec.Cmd) error {
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	h.processes = append(h.processes, cmd)
	return nil
}

func (h *hub) stop() {
	if h.conn != nil {
		h.conn.Close()
	}
	for _, cmd := range h.processes {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}
	_ = os.RemoveAll(h.dir) // the system clears what is left behind
}

// stored returns how many messages were ever stored in streams of the hub.
func (h *hub) stored(ctx context.Context, streams ...string) (n uint64, err error) {
	for _, name := range streams {
		s, streamErr := h.js.Stream(ctx, name)
		if streamErr != nil {
			err = errors.Join(err, streamErr)
			continue
		}
		n += s.CachedInfo().State.LastSeq
	}
	return n, err
}
