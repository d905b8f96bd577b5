package notify

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/reroll-dev/reroll/reloader"
)

// desk is Alerts with all that can be seen of them.
type desk struct {
	*Alerts
	log bytes.Buffer
}

func newDesk(t *testing.T, o AlertOptions) *desk {
	t.Helper()
	d := &desk{}
	o.Version = "v1.2.3"
	alerts, err := NewAlerts(o, slog.New(slog.NewTextHandler(&d.log, nil)), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	d.Alerts = alerts
	return d
}

// during runs the desk while do runs, and until it has sent what it has.
func (d *desk) during(t *testing.T, do func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := d.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	do()
	cancel()
	running.Wait()
}

// wantResults fails the test unless so many alerts were sent, have failed, and were dropped.
func (d *desk) wantResults(t *testing.T, want ...float64) {
	t.Helper()
	for i, result := range []string{alertSent, alertFailed, alertDropped} {
		if n := testutil.ToFloat64(d.outcomes.WithLabelValues(result)); n != want[i] {
			t.Errorf("%v alerts %s, want %v", n, result, want[i])
		}
	}
}

const (
	aboutPrices = "Reloader detected changes in *prices.v2* of type *CONFIGMAP* in namespace *shop*. Hence reloaded *storage* of type *StatefulSet* in namespace *shop*"
	aboutToken  = "Reloader detected changes in *token* of type *SECRET* in namespace *shop*. Hence reloaded *storage* of type *StatefulSet* in namespace *shop*"
)

// TestAlertIsPosted: each sink gets its body, of which the golden files have one each, directly and through a proxy.
func TestAlertIsPosted(t *testing.T) {
	for _, s := range sinks {
		golden(t, "alert-"+s.name+".txt", s.encode("blue <1> : "+aboutPrices).body)
		for _, proxied := range []bool{false, true} {
			url, requests := receiver(t, http.StatusOK)
			o := AlertOptions{URL: " " + url + "/T0/hook?k=v\n", Sink: s.name, AdditionalInfo: "blue"}
			want := received{Method: http.MethodPost, URI: "/T0/hook?k=v", Host: strings.TrimPrefix(url, "http://"), Body: string(s.encode("blue : " + aboutPrices).body)}
			credentials := ""
			if proxied { // to a host that only the proxy could find
				o.URL, o.Proxy = "http://chat.invalid/T0/hook", strings.Replace(url, "//", "//me:pass@", 1)+"\n"
				want.URI, want.Host = o.URL, "chat.invalid"
				credentials = "Basic " + base64.StdEncoding.EncodeToString([]byte("me:pass"))
			}
			d := newDesk(t, o)
			d.during(t, func() {
				d.Announce(nil, reload(cause("c-1", prices, 0, sumA, sumB)))
				got := <-requests
				contentType := "application/json"
				if s.name == "raw" {
					contentType = "text/plain"
				}
				if h := got.Header; h.Get("Content-Type") != contentType || h.Get("User-Agent") != "reroll/v1.2.3" || h.Get("Proxy-Authorization") != credentials {
					t.Errorf("header %v", h)
				}
				got.Header = nil
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("request (-want +got):\n%s", diff)
				}
			})
			d.wantResults(t, 1, 0, 0)
		}
	}
}

// TestOnlyReloadsAlert: with a restart, or without. What nobody sends is dropped beyond the backlog.
func TestOnlyReloadsAlert(t *testing.T) {
	d := newDesk(t, AlertOptions{URL: "http://127.0.0.1:1"})
	r := reload(cause("c-1", prices, 0, sumA, sumB))
	queued := 0
	for _, i := range reloader.Reasons {
		r.Outcome = i.Reason
		d.Announce(nil, r)
		if i.Reason == reloader.ReasonReloaded || slices.Contains(reloader.HotReasons, i.Reason) {
			queued++
		}
		if got := len(d.queue); got != queued {
			t.Fatalf("%d alerts after %s, want %d", got, i.Reason, queued)
		}
	}
	r.Outcome = reloader.ReasonReloaded
	for range alertBacklog + 3 - queued {
		d.Announce(nil, r)
	}
	d.wantResults(t, 0, 0, 3)
}

// TestSecretsStayOutOfLogs lets alerts fail in every way and looks for the parts of the addresses that are secret.
func TestSecretsStayOutOfLogs(t *testing.T) {
	redirect, _ := receiver(t, http.StatusFound)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]AlertOptions{
		"redirect":          {URL: strings.Replace(redirect, "//", "//bot:hunter2@", 1) + "/hunter2?k=hunter2"},
		"nobody listens":    {URL: "http://bot:hunter2@" + closed + "/hunter2?k=hunter2"},
		"dead proxy":        {URL: "http://chat.example/hunter2", Proxy: "http://bot:hunter2@" + closed},
		"not an http proxy": {URL: "https://chat.example/hunter2", Proxy: strings.Replace(redirect, "//", "//bot:hunter2@", 1)},
	} {
		d := newDesk(t, o)
		d.Announce(nil, reload(cause("c-1", prices, 0, sumA, sumB)))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := d.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if log := d.log.String(); strings.Contains(log, "hunter2") || !strings.Contains(log, d.url.Host) || !strings.Contains(log, storage.String()) {
			t.Errorf("%s: the log names a secret, or not the host and the workload: %s", name, log)
		}
		d.wantResults(t, 0, 1, 0)
	}
}

func TestBadAddresses(t *testing.T) {
	for name, o := range map[string]AlertOptions{
		"empty":           {},
		"no host":         {URL: "https:///hunter2"},
		"other scheme":    {URL: "ftp://chat.example/hunter2"},
		"does not parse":  {URL: "https://chat.example:hunter2/"},
		"control letters": {URL: "https://chat.example/hunter2\x7f"},
		"proxy":           {URL: "https://chat.example", Proxy: "hunter2:3128"},
		"proxy scheme":    {URL: "https://chat.example", Proxy: "file:///hunter2"},
	} {
		if _, err := NewAlerts(o, slog.New(slog.DiscardHandler), prometheus.NewRegistry()); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v, want one without the address", name, err)
		}
	}
}

// transportFunc is a transport for tests of time, which real connections would hold up.
type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTries(t *testing.T) {
	for name, tc := range map[string]struct {
		status int // 0 is a lost connection, negative no answer
		after  string
		// at are the seconds after the first try at which there is one.
		at []float64
	}{
		"taken":                 {200, "", []float64{0}},
		"unavailable":           {503, "", []float64{0, 1, 3, 7}},
		"connection lost":       {0, "", []float64{0, 1, 3, 7}},
		"asks for patience":     {429, "5", []float64{0, 5, 10, 15}},
		"asks for a year":       {503, "31536000", []float64{0, 30, 60, 90}},
		"asks in words":         {503, "soon", []float64{0, 1, 3, 7}},
		"asks below zero":       {503, "-7", []float64{0, 1, 3, 7}},
		"bad request":           {400, "", []float64{0}},
		"redirect":              {302, "", []float64{0}},
		"request took too long": {408, "", []float64{0, 1, 3, 7}},
		"no answer in ten":      {-1, "", []float64{0, 11, 23, 37}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, AlertOptions{URL: "http://chat.example"})
				start := time.Now()
				var at []float64
				d.transport = transportFunc(func(r *http.Request) (*http.Response, error) {
					at = append(at, time.Since(start).Seconds())
					switch {
					case tc.status < 0:
						<-r.Context().Done()
						return nil, r.Context().Err()
					case tc.status == 0:
						return nil, errors.New("reset")
					}
					return &http.Response{StatusCode: tc.status, Header: http.Header{"Retry-After": {tc.after}}, Body: io.NopCloser(strings.NewReader(""))}, nil
				})
				d.Announce(nil, reload(cause("c-1", prices, 0, sumA, sumB)))
				d.during(t, func() { <-time.After(5 * time.Minute) })
				if diff := cmp.Diff(tc.at, at); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestSentences: one for each config, as if they had come one after the other, with the info in front, cut between two characters.
func TestSentences(t *testing.T) {
	of := func(c reloader.Config) reloader.Cause { return cause("c", c, 0, sumA, sumB) }
	for info, tc := range map[string]struct {
		causes []reloader.Cause
		want   []string
	}{
		"":                                    {[]reloader.Cause{of(token), of(prices), of(prices)}, []string{aboutToken, aboutPrices}},
		" cluster blue\n":                     {[]reloader.Cause{of(token)}, []string{"cluster blue : " + aboutToken}},
		strings.Repeat("ä", maxTextBytes):     {[]reloader.Cause{of(prices)}, []string{strings.Repeat("ä", maxTextBytes/2)}},
		strings.Repeat("x\xff", maxTextBytes): {[]reloader.Cause{of(prices)}, []string{strings.Repeat("x\uFFFD", maxTextBytes/4)}},
	} {
		if diff := cmp.Diff(tc.want, sentences(reload(tc.causes...), info)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
