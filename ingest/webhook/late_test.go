package webhook

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/reloader"
)

func TestSinkThatHangs(t *testing.T) {
	hangs := ingest.SinkFunc(func(ctx context.Context, _ []reloader.Hint) error {
		<-ctx.Done()
		return ctx.Err()
	})
	r := start(t, func(_ *rig, o *Options) { o.Sink, o.Limits.Budget = hangs, 20*time.Millisecond })
	checkBusy(t, r.must(r.client(true), r.request(strings.NewReader(body), nil)))
}

func TestBodyThatStopsArriving(t *testing.T) {
	cases := map[string]struct {
		err  error
		want int
	}{
		"deadline":   {os.ErrDeadlineExceeded, http.StatusRequestTimeout},
		"connection": {io.ErrUnexpectedEOF, http.StatusBadRequest},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			stored := &sink{}
			r := start(t, func(_ *rig, o *Options) { o.Sink = stored })
			content := io.MultiReader(strings.NewReader(body), iotest.ErrReader(c.err))
			w := httptest.NewRecorder()
			r.server.handler.ServeHTTP(w, r.request(content, nil))
			if w.Code != c.want || stored.count() != 0 {
				t.Errorf("got %d and %d hints, want %d and none", w.Code, stored.count(), c.want)
			}
		})
	}
}

func TestLateBodyGetsWhatIsLeftOfTheTime(t *testing.T) {
	now := time.Now()
	deadline := make(chan time.Duration, 1)
	r := start(t, func(_ *rig, o *Options) {
		o.Now = func() time.Time { return now }
		o.Sink = ingest.SinkFunc(func(ctx context.Context, _ []reloader.Hint) error {
			at, _ := ctx.Deadline()
			deadline <- time.Until(at)
			return nil
		})
	})
	late := readerFunc(func(p []byte) (int, error) {
		now = now.Add(25 * time.Second)
		return 0, io.EOF
	})
	w := httptest.NewRecorder()
	r.server.handler.ServeHTTP(w, r.request(io.MultiReader(strings.NewReader(body), late), nil))
	if left := <-deadline; left > 4*time.Second || left < time.Second {
		t.Errorf("%s left for storing, want the 4 s until the sender gives up", left)
	}
}

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
