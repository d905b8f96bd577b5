package webhook

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/reloader"
)

func TestPlaces(t *testing.T) {
	type step struct {
		take, leave int64
		refused     bool
	}
	cases := map[string]struct {
		steps  []step
		reason string
	}{
		"number":       {[]step{{take: 1}, {take: 1}, {take: 1}, {take: 1, refused: true}, {leave: 1}, {take: 1}}, "three at a time"},
		"bytes":        {[]step{{take: 60}, {take: 40}, {take: 1, refused: true}, {leave: 60}, {take: 60}}, "a hundred at a time"},
		"long":         {[]step{{take: 60}, {take: 41, refused: true}, {take: 40}}, "a shorter one still fits"},
		"longer alone": {[]step{{take: 500}, {take: 1, refused: true}, {leave: 500}, {take: 1}, {take: 500, refused: true}}, "it would never get in otherwise"},
		"empty":        {[]step{{take: 100}, {take: 0}, {take: 0}, {take: 0, refused: true}}, "they count as bodies"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := &places{maxBodies: 3, maxBytes: 100}
			for i, s := range c.steps {
				if s.leave > 0 {
					p.leave(s.leave)
					continue
				}
				if got := p.take(s.take); got == s.refused {
					t.Errorf("step %d: taken: %t: %s", i, got, c.reason)
				}
			}
		})
	}
}

// TestBytesAtOnceAreBounded holds one body, and posts others beside it.
func TestBytesAtOnceAreBounded(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	first := true
	r := start(t, func(_ *rig, o *Options) {
		o.Limits.BodyBytes, o.Limits.BytesAtOnce = int64(len(body))+100, int64(2*len(body))
		o.Sink = ingest.SinkFunc(func(context.Context, []reloader.Hint) error {
			if first {
				first = false
				close(entered)
				<-release
			}
			return nil
		})
	})
	client := r.client(true)
	answers := make(chan answer, 1)
	held := r.request(strings.NewReader(body+" "), nil)
	go func() {
		got, err := r.do(client, held)
		if err != nil {
			t.Error(err)
		}
		answers <- got
	}()
	<-entered
	checkBusy(t, r.must(client, r.request(strings.NewReader(body), nil)))
	checkBusy(t, r.must(client, r.request(readerFunc(strings.NewReader(body).Read), nil)))
	if got := r.must(client, r.request(strings.NewReader(strings.TrimSpace(body)[:20]), nil)); got.code != http.StatusBadRequest {
		t.Errorf("a short body got %d; there is room for it", got.code)
	}
	close(release)
	if got := <-answers; got.code != http.StatusNoContent {
		t.Errorf("the first got %d", got.code)
	}
	if got := r.must(client, r.request(readerFunc(strings.NewReader(body).Read), nil)); got.code != http.StatusNoContent {
		t.Errorf("when it is over: got %d", got.code)
	}
}
