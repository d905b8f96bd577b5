package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// house holds what runs, and takes it down in reverse. Each part registers its own end on the line after it came up, so that a
// start that fails half-way leaves nothing behind.
type house struct {
	logger *slog.Logger
	ends   []end
	// failed gets the first error of a part that ended unasked.
	failed chan error
}

type end struct {
	name string
	call func(context.Context) error
}

const (
	// endTime bounds the end of the whole, so that it is over before the 60 s are that the chart gives the pod.
	endTime = 50 * time.Second
	// partTime bounds the end of one part, and leastTime is what even the last one gets after slow ones: storing comes last.
	partTime, leastTime = 25 * time.Second, time.Second
)

func newHouse(logger *slog.Logger) *house {
	return &house{logger: logger, failed: make(chan error, 16)}
}

func (h *house) onEnd(name string, call func(context.Context) error) {
	h.ends = append(h.ends, end{name, call})
}

// close takes everything down, the newest part first.
func (h *house) close() error {
	var errs []error
	deadline := time.Now().Add(endTime)
	for i := len(h.ends) - 1; i >= 0; i-- {
		left := max(time.Until(deadline), leastTime)
		ctx, cancel := context.WithTimeout(context.Background(), min(left, partTime))
		if err := h.ends[i].call(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", h.ends[i].name, err))
		}
		cancel()
	}
	h.ends = nil
	return errors.Join(errs...)
}

// start runs a part that lasts until its context ends, and waits for it at the end.
func (h *house) start(name string, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		err := run(ctx)
		if ctx.Err() == nil {
			h.fail(fmt.Errorf("%s ended: %w", name, cmp.Or(err, errUnknown)))
		}
		done <- err
	}()
	h.onEnd(name, func(stop context.Context) error {
		cancel()
		select {
		case err := <-done:
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		case <-stop.Done():
			return stop.Err()
		}
	})
}

// listen serves handler on an address until the end.
func (h *house) listen(name, address string, server *http.Server) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		serve := server.Serve
		if server.TLSConfig != nil {
			serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
		}
		if err := serve(listener); !errors.Is(err, http.ErrServerClosed) {
			h.fail(fmt.Errorf("%s: %w", name, err))
		}
	}()
	h.onEnd(name, server.Shutdown)
	h.logger.Info("listening", "part", name, "address", listener.Addr().String())
	return nil
}

func (h *house) fail(err error) {
	select {
	case h.failed <- err:
	default:
	}
}

// wait returns nil when ctx ends, or the error of the first part that failed.
func (h *house) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-h.failed:
		return err
	}
}

var errUnknown = errors.New("no reason given")
