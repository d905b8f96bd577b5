package ops

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestBarrier(t *testing.T) {
	of := func(pending, held []string) Barrier {
		return func(context.Context, string) (_, _ []string) { return pending, held }
	}
	shop := "/barrier?namespace=shop"
	cases := map[string]struct {
		wait   Barrier
		target string
		change func(*http.Request)
		code   int
		body   string
	}{
		"nothing is pending": {of(nil, []string{"web: Frozen"}), shop, nil, 200, "decided: every write in namespace shop before this request\nheld: web: Frozen\n"},
		"a line each":        {of([]string{"a\nheld: b", "c"}, nil), shop + "&wait=1ms", nil, 409, "pending: a held: b\npending: c\n"},
		"a dispatcher alone": {nil, shop, nil, 404, "404 page not found\n"},
		"from elsewhere":     {of(nil, nil), shop, func(r *http.Request) { r.RemoteAddr = "10.0.0.7:4711" }, 403, "Only the loopback may ask: use kubectl port-forward.\n"},
		"IPv6":               {of(nil, nil), shop, func(r *http.Request) { r.RemoteAddr = "[::1]:4711" }, 200, "decided: every write in namespace shop before this request\n"},
		"no namespace":       {of(nil, nil), "/barrier", nil, 400, "namespace \"\" is not the name of a namespace\n"},
		"another parameter":  {of(nil, nil), shop + "&name=x", nil, 400, "the parameters are namespace and wait, each once, not \"name\"\n"},
		"too long a wait":    {of(nil, nil), shop + "&wait=21s", nil, 400, "wait \"21s\" is not a duration from 0s to 20s\n"},
		"a bad name":         {of(nil, nil), "/barrier?namespace=Shop%0a", nil, 400, "namespace \"Shop\\n\" is not the name of a namespace\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if w := ask(Options{Barrier: tc.wait}, tc.target, tc.change); w.Code != tc.code || w.Body.String() != tc.body {
				t.Errorf("GET %s: got %d %q, want %d %q", tc.target, w.Code, w.Body, tc.code, tc.body)
			}
		})
	}
	t.Run("a web page's name", func(t *testing.T) {
		if w := ask(Options{Barrier: of(nil, nil)}, shop, func(r *http.Request) { r.Host = "evil.example" }); w.Code != http.StatusForbidden {
			t.Errorf("got %d", w.Code)
		}
	})
	t.Run("many lines", func(t *testing.T) {
		w := ask(Options{Barrier: of(make([]string, 250), nil)}, shop, nil)
		if got := strings.Split(w.Body.String(), "\n"); len(got) != maxLines+2 || got[maxLines] != "pending: 150 more" {
			t.Errorf("%d lines, the last is %q", len(got), got[len(got)-2])
		}
	})
}

// TestBarrierWaits: a request waits as long as it asks to, and only so many wait at once.
func TestBarrierWaits(t *testing.T) {
	var all sync.WaitGroup
	began, end := make(chan struct{}), make(chan struct{})
	handler := barrier(func(ctx context.Context, _ string) (_, _ []string) {
		deadline, _ := ctx.Deadline()
		if left := time.Until(deadline); left > defaultWait {
			t.Errorf("it waits for %s", left)
		}
		began <- struct{}{}
		<-end
		return nil, nil
	})
	for range maxBarriers {
		all.Go(func() {
			if w := send(handler, "/barrier?namespace=shop", nil); w.Code != http.StatusOK {
				t.Errorf("got %d", w.Code)
			}
		})
	}
	for range maxBarriers {
		<-began
	}
	if w := send(handler, "/barrier?namespace=shop", nil); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" {
		t.Errorf("one too many: %d", w.Code)
	}
	close(end)
	all.Wait()
	short := func(ctx context.Context, _ string) (_, _ []string) {
		if <-ctx.Done(); !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Error(ctx.Err())
		}
		return []string{"x"}, nil
	}
	if w := ask(Options{Barrier: short}, "/barrier?namespace=shop&wait=1ms", nil); w.Code != http.StatusConflict {
		t.Errorf("got %d", w.Code)
	}
}
