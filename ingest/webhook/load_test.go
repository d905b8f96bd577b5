//go:build nightly

package webhook

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/reloader"
)

func TestSlowBodyIsCutOff(t *testing.T) {
	stored := &sink{}
	cases := map[string]bool{"HTTP/1.1": false, "HTTP/2": true}
	for name, h2 := range cases {
		t.Run(name, func(t *testing.T) {
			r := start(t, func(r *rig, o *Options) { o.Sink, r.tune = stored, shortTimeouts })
			reader, writer := io.Pipe()
			defer writer.Close()
			go func() { _, _ = io.WriteString(writer, body[:50]) }()
			got, err := r.do(r.client(h2), r.request(reader, nil))
			if err == nil && got.code != http.StatusRequestTimeout && got.code != http.StatusBadRequest {
				t.Errorf("got %d, want the request cut off", got.code)
			}
			if stored.count() != 0 {
				t.Error("half a body was stored")
			}
		})
	}
}

func TestShutdownWaitsForRunningRequests(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	r := start(t, func(_ *rig, o *Options) {
		o.Sink = ingest.SinkFunc(func(context.Context, []reloader.Hint) error {
			close(entered)
			<-release
			return nil
		})
	})
	answers := make(chan answer, 1)
	client, req := r.client(true), r.request(strings.NewReader(body), nil)
	go func() {
		got, err := r.do(client, req)
		if err != nil {
			t.Error(err)
		}
		answers <- got
	}()
	<-entered
	down := make(chan error, 1)
	r.server.http.RegisterOnShutdown(sync.OnceFunc(func() { close(release) }))
	go func() { down <- r.server.Shutdown(context.Background()) }()
	if got := <-answers; got.code != http.StatusNoContent {
		t.Errorf("got %d, want the running request to end well", got.code)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
	if got, err := r.do(r.client(true), r.request(strings.NewReader(body), nil)); err == nil {
		t.Errorf("got %d after the shutdown", got.code)
	}
}

// shortTimeouts makes the timeouts of a test's server bearable.
func shortTimeouts(s *http.Server) {
	s.ReadHeaderTimeout, s.ReadTimeout = 100*time.Millisecond, 100*time.Millisecond
}
