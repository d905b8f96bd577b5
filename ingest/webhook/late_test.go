package webhook

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/reloader"
)

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

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
