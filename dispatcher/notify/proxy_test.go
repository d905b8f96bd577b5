package notify

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
)

// TestProxy posts through a real proxy to a host that nobody but the proxy could find.
func TestProxy(t *testing.T) {
	proxy, requests := receiver(t, answering(http.StatusOK))
	d := newDesk(t, AlertOptions{
		URL: "http://chat.invalid/T0/hook", Sink: "teams", Proxy: strings.Replace(proxy, "//", "//me:pass@", 1) + "\n",
	})
	d.Announce(nil, reload(cause("c-1", prices, 0, sumA, sumB)))
	d.during(t, func() {})
	d.wantResults(t, map[string]float64{alertSent: 1})
	if len(requests) != 1 {
		t.Fatalf("the proxy got %d requests, want 1", len(requests))
	}
	got := <-requests
	if got.Method != http.MethodPost || got.URI != "http://chat.invalid/T0/hook" || got.Host != "chat.invalid" {
		t.Errorf("the proxy was asked for %s %s at %s", got.Method, got.URI, got.Host)
	}
	if want := string(textOnly(aboutPrices).body); got.Body != want {
		t.Errorf("the proxy got %q, want %q", got.Body, want)
	}
	if want := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:pass")); got.Header.Get("Proxy-Authorization") != want {
		t.Errorf("the proxy got credentials %q, want %q", got.Header.Get("Proxy-Authorization"), want)
	}
}
