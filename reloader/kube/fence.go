package kube

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// fence refuses writes of a process that leads no more. The zero value refuses none.
type fence struct {
	// closes is when it closes; nil if it does not.
	closes atomic.Pointer[time.Time]
}

func (f *fence) closeAt(t time.Time) { f.closes.Store(&t) }

// closed asks both clocks: a paused machine stops the one, and anyone who sets the time sets the other.
func (f *fence) closed() bool {
	closes := f.closes.Load()
	if closes == nil {
		return false
	}
	now := time.Now()
	return !now.Before(*closes) || !now.Round(0).Before(closes.Round(0))
}

// around returns a copy of config whose requests pass the fence, as the last thing before they are sent.
func (f *fence) around(config *rest.Config) *rest.Config {
	fenced := rest.CopyConfig(config)
	fenced.Wrap(func(next http.RoundTripper) http.RoundTripper { return fencedTransport{f, next} })
	return fenced
}

// writes reports whether a request may change something. A WebSocket that runs a command in a pod begins with a GET.
func writes(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead || strings.HasSuffix(r.URL.Path, "/exec")
}

type fencedTransport struct {
	fence *fence
	next  http.RoundTripper
}

// RoundTrip sends r, unless it writes and the leadership is lost.
func (t fencedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if writes(r) && t.fence.closed() {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, ErrLeadershipLost
	}
	return t.next.RoundTrip(r)
}
