package webhook

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/reloader"
)

// honest is a sink that stores nothing for a caller who has gone, as the queue does.
func honest(stored *sink) ingest.Sink {
	return ingest.SinkFunc(func(ctx context.Context, hints []reloader.Hint) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return stored.Put(ctx, hints)
	})
}

// TestBodyThatComesTooLateIsNotStored: its sender has given up, and sends it again.
func TestBodyThatComesTooLateIsNotStored(t *testing.T) {
	now := time.Now()
	stored := &sink{}
	r := start(t, func(_ *rig, o *Options) { o.Now, o.Sink = func() time.Time { return now }, honest(stored) })
	late := readerFunc(func([]byte) (int, error) {
		now = now.Add(senderPatience)
		return 0, io.EOF
	})
	w := httptest.NewRecorder()
	r.server.handler.ServeHTTP(w, r.request(io.MultiReader(strings.NewReader(body), late), nil))
	if w.Code != http.StatusServiceUnavailable || stored.count() != 0 {
		t.Errorf("got %d and %d hints, want 503 and none", w.Code, stored.count())
	}
}

// TestSenderThatHasGoneEndsTheStoring: nobody waits for an answer that nobody hears.
func TestSenderThatHasGoneEndsTheStoring(t *testing.T) {
	for name, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			entered, over := make(chan struct{}), make(chan error, 1)
			r := start(t, func(_ *rig, o *Options) {
				o.Sink = ingest.SinkFunc(func(ctx context.Context, _ []reloader.Hint) error {
					close(entered)
					<-ctx.Done()
					over <- context.Cause(ctx)
					return ctx.Err()
				})
			})
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			gone := make(chan error, 1)
			client, req := r.client(h2), r.request(strings.NewReader(body), nil).WithContext(ctx)
			go func() {
				_, err := r.do(client, req)
				gone <- err
			}()
			<-entered
			leave()
			if err := <-gone; err == nil {
				t.Error("whoever left got an answer")
			}
			if err := <-over; !errors.Is(err, context.Canceled) {
				t.Errorf("the storing ended with %v, want that the sender has gone", err)
			}
		})
	}
}
