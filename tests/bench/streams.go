package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/tests/line"
)

const (
	// perMachine is how many streams come from one address: one client may not ask for more at once.
	perMachine = 50
	// told is how many events are measured.
	told = 50
	// between is the time from an event that has reached everybody to the next.
	between = 50 * time.Millisecond
)

// streams measures how long an event takes to reach the last of many clients: from its record being stored, through the role api,
// beside a bare server that writes the same bytes to as many.
func (b *bench) streams(ctx context.Context, s *store, r *line.Reroll) error {
	bare := newBroadcast()
	server := httptest.NewServer(bare)
	defer server.Close()
	defer bare.end()
	// The bare one writes what the other has written, of the same length.
	length, err := eventLength(ctx, r)
	if err != nil {
		return err
	}
	fill := strings.Repeat("x", length)
	for _, stream := range []struct {
		name, url string
		cause     func() error
	}{
		{fmt.Sprintf("an event to the last of %d bare streams", b.clients), server.URL, func() error { bare.tell("event: reload\ndata: " + fill + "\n\n"); return nil }},
		{"  through the store and the role api", r.API + "/api/v1/events?types=reload", func() error { return s.next(ctx) }},
	} {
		took, err := b.toTheLast(ctx, stream.url, stream.cause)
		if err != nil {
			return fmt.Errorf("%s: %w", stream.name, err)
		}
		row(stream.name, "%s", percentiles(took))
	}
	return nil
}

// eventLength returns how long a reload is as JSON.
func eventLength(ctx context.Context, r *line.Reroll) (int, error) {
	size, err := read(ctx, clientAt("127.0.0.1"), r.API+"/api/v1/reloads?limit=1")
	return int(size), err
}

// toTheLast opens all streams, and measures from each cause until the last stream has its event.
func (b *bench) toTheLast(ctx context.Context, url string, cause func() error) (took []time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	g, gctx := errgroup.WithContext(ctx)
	defer func() {
		cancel()
		_ = g.Wait() // the streams were cut
	}()
	opened, heard := make(chan struct{}, b.clients), make(chan time.Time, b.clients)
	for n := range b.clients {
		g.Go(func() error {
			err := listen(gctx, fmt.Sprintf("127.0.1.%d", 1+n/perMachine), url, opened, heard)
			if ctx.Err() != nil {
				return nil
			}
			return errors.Join(errors.New("a stream has ended"), err)
		})
	}
	if err := all(gctx, opened, b.clients, nil); err != nil {
		return nil, err
	}
	for range told {
		start, last := time.Now(), time.Time{}
		if err := cause(); err != nil {
			return nil, err
		}
		if err := all(gctx, heard, b.clients, func(at time.Time) {
			if at.After(last) {
				last = at
			}
		}); err != nil {
			return nil, err
		}
		took = append(took, last.Sub(start))
		if !until(gctx, time.Now().Add(between)) {
			return nil, context.Cause(gctx)
		}
	}
	return took, nil
}

// all takes n values.
func all[T any](ctx context.Context, from <-chan T, n int, take func(T)) error {
	for range n {
		select {
		case v := <-from:
			if take != nil {
				take(v)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// listen reads a stream from an address of this machine, says when it is open, and when each reload has come.
func listen(ctx context.Context, address, url string, opened chan<- struct{}, heard chan<- time.Time) error {
	client := clientAt(address)
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		switch lines.Text() {
		case "event: hello":
			opened <- struct{}{}
		case "event: reload":
			heard <- time.Now()
		}
	}
	return lines.Err()
}

// broadcast is the least that a server of streams must do.
type broadcast struct {
	mu    sync.Mutex
	sinks []chan string
	done  chan struct{}
}

func newBroadcast() *broadcast { return &broadcast{done: make(chan struct{})} }

func (b *broadcast) end() { close(b.done) }

func (b *broadcast) tell(event string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, sink := range b.sinks {
		sink <- event
	}
}

// ServeHTTP writes what is told until the end.
func (b *broadcast) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sink := make(chan string, told)
	b.mu.Lock()
	b.sinks = append(b.sinks, sink)
	b.mu.Unlock()
	text := "event: hello\ndata: {}\n\n"
	for {
		if _, err := w.Write([]byte(text)); err != nil || http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case text = <-sink:
		case <-b.done:
			return
		case <-r.Context().Done():
			return
		}
	}
}
