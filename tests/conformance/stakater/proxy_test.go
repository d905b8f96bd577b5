//go:build nightly

package stakater_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// TestAlertsThroughProxy: with a proxy the alert goes there, and the proxy is asked for the address: a host that
// nobody but the proxy knows.
func TestAlertsThroughProxy(t *testing.T) {
	const sink = "http://alerts.invalid/hook?token=one"
	r := newReceiver(t)
	var mu sync.Mutex
	asked := map[string]int{}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		mu.Lock()
		asked[request.RequestURI]++ // a proxy is asked for a whole URL
		mu.Unlock()
		r.ServeHTTP(w, request)
	}))
	t.Cleanup(proxy.Close)
	p := withFlags(t, []string{"REROLL_NOTIFICATIONS_URL=" + sink, "REROLL_NOTIFICATIONS_PROXY=" + proxy.URL})
	namespace := p.play(t, oneEdit).Namespace("main")
	got := awaitBodies(t, r, "web")
	want := "Reloader detected changes in app of type CONFIGMAP in namespace " + namespace + ". Hence reloaded web of type Deployment in namespace " + namespace
	if len(got) != 1 || got[0] != want {
		t.Errorf("received %q, want once %s", got, want)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(asked) != 1 || asked[sink] == 0 {
		t.Errorf("the proxy was asked for %v, want %s alone", asked, sink)
	}
}
