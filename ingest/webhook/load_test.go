//go:build nightly

package webhook

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/reloader"
)

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
