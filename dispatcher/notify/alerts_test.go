package notify

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/reloader"
)

// desk is Alerts with all that can be seen of them.
type desk struct {
	*Alerts
	registry *prometheus.Registry
	log      bytes.Buffer
}

func newDesk(t *testing.T, o AlertOptions) *desk {
	t.Helper()
	d := &desk{registry: prometheus.NewRegistry()}
	o.Version = "v1.2.3"
	alerts, err := NewAlerts(o, slog.New(slog.NewTextHandler(&d.log, nil)), d.registry)
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

// results returns the counts that are not zero.
func (d *desk) results(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := d.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]float64{}
	for _, m := range families[0].GetMetric() {
		if n := m.GetCounter().GetValue(); n > 0 {
			counts[m.GetLabel()[0].GetValue()] = n
		}
	}
	return counts
}

func (d *desk) wantResults(t *testing.T, want map[string]float64) {
	t.Helper()
	if diff := cmp.Diff(want, d.results(t)); diff != "" {
		t.Errorf("alerts by result (-want +got):\n%s", diff)
	}
}

func TestAlertIsPosted(t *testing.T) {
	contentTypes := map[string]string{
		"slack": "application/json", "teams": "application/json", "gchat": "application/json", "raw": "text/plain",
	}
	for name, contentType := range contentTypes {
		t.Run(name, func(t *testing.T) {
			url, requests := receiver(t, answering(http.StatusOK))
			d := newDesk(t, AlertOptions{URL: " " + url + "/T0/hook?k=v\n", Sink: name, AdditionalInfo: "blue"})
			d.during(t, func() {
				d.Announce(nil, reload(cause("c-1", prices, 0, sumA, sumB)))
				got := <-requests
				want := received{
					Method: http.MethodPost, URI: "/T0/hook?k=v", Host: strings.TrimPrefix(url, "http://"), Header: got.Header,
					Body: string(sinkNamed(name).encode("blue : " + aboutPrices).body),
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("request (-want +got):\n%s", diff)
				}
				if ct, agent := got.Header.Get("Content-Type"), got.Header.Get("User-Agent"); ct != contentType || agent != "reroll/v1.2.3" {
					t.Errorf("content type %q, user agent %q; want %q and reroll/v1.2.3", ct, agent, contentType)
				}
			})
			d.wantResults(t, map[string]float64{alertSent: 1})
		})
	}
}

// TestOnlyReloadsAlert: with a restart, or without.
func TestOnlyReloadsAlert(t *testing.T) {
	d := newDesk(t, AlertOptions{URL: "http://127.0.0.1:1"})
	for _, i := range reloader.Reasons {
		reason := i.Reason
		r := reload(cause("c-1", prices, 0, sumA, sumB))
		r.Outcome = reason
		d.Announce(nil, r)
		want := 0
		if reason == reloader.ReasonReloaded || slices.Contains(reloader.HotReasons, reason) {
			want = 1
		}
		if got := len(d.queue); got != want {
			t.Errorf("%s queued %d alerts, want %d", reason, got, want)
		}
		for len(d.queue) > 0 {
			<-d.queue
		}
	}
}

func TestAnnounceNeverBlocks(t *testing.T) {
	d := newDesk(t, AlertOptions{URL: "http://127.0.0.1:1"})
	for range alertBacklog + 3 {
		d.Announce(nil, reload(cause("c-1", prices, 0, sumA, sumB))) // nobody sends
	}
	d.wantResults(t, map[string]float64{alertDropped: 3})
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere, strays := receiver(t, answering(http.StatusOK))
	for _, status := range []int{301, 302, 303, 307, 308} {
		url, requests := receiver(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere, status) })
		d := newDesk(t, AlertOptions{URL: url})
		d.Announce(nil, reload(cause("c-1", prices, 0, sumA, sumB)))
		d.during(t, func() {})
		if len(requests) != 1 {
			t.Errorf("%d: %d requests, want 1", status, len(requests))
		}
		d.wantResults(t, map[string]float64{alertFailed: 1})
	}
	if len(strays) > 0 {
		t.Errorf("%d requests went where nobody had told us to post", len(strays))
	}
}

// TestSecretsStayOutOfLogs lets alerts fail in every way and looks for the parts of the addresses that are secret.
func TestSecretsStayOutOfLogs(t *testing.T) {
	echo, _ := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://[hunter2:"+r.RequestURI)
		w.WriteHeader(http.StatusFound)
	})
	hangUp, _ := receiver(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	cases := map[string]AlertOptions{
		"redirect":          {URL: strings.Replace(echo, "//", "//bot:hunter2@", 1) + "/hunter2?k=hunter2"},
		"nobody listens":    {URL: "http://bot:hunter2@" + closedPort(t) + "/hunter2?k=hunter2"},
		"hangs up":          {URL: strings.Replace(hangUp, "//", "//bot:hunter2@", 1) + "/hunter2"},
		"dead proxy":        {URL: "http://chat.example/hunter2", Proxy: "http://bot:hunter2@" + closedPort(t)},
		"not an http proxy": {URL: "https://chat.example/hunter2", Proxy: strings.Replace(hangUp, "//", "//bot:hunter2@", 1)},
	}
	for name, o := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, o)
			d.Announce(nil, reload(cause("c-1", prices, 0, sumA, sumB)))
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := d.Run(ctx); err != nil {
				t.Fatal(err)
			}
			log := d.log.String()
			if strings.Contains(log, "hunter2") || !strings.Contains(log, d.url.Host) || !strings.Contains(log, storage.String()) {
				t.Errorf("log names a secret, or not the host and the workload: %s", log)
			}
			d.wantResults(t, map[string]float64{alertFailed: 1})
		})
	}
}

// closedPort returns an address where nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestBadAddresses(t *testing.T) {
	cases := map[string]AlertOptions{
		"empty":           {},
		"no scheme":       {URL: "chat.example/hunter2"},
		"no host":         {URL: "https:///hunter2"},
		"other scheme":    {URL: "ftp://chat.example/hunter2"},
		"does not parse":  {URL: "https://chat.example:hunter2/"},
		"control letters": {URL: "https://chat.example/hunter2\x7f"},
		"proxy":           {URL: "https://chat.example", Proxy: "hunter2:3128"},
		"proxy scheme":    {URL: "https://chat.example", Proxy: "file:///hunter2"},
	}
	for name, o := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := NewAlerts(o, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v, want one without the address", err)
			}
		})
	}
}
