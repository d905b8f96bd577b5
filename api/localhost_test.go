package api

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestForeignNames: a page whose name leads to a server has the origin of the API there. It reads nothing of a loopback, and nothing of a server that
// lets in anyone who reaches it, unless no page in the internet can have that name.
func TestForeignNames(t *testing.T) {
	const both, private, none = 2, 1, 0
	hosts := map[string]int{
		"localhost": both, "LOCALHOST:8080": both, "localhost.:8080": both, "reroll.localhost:8080": both, "127.0.0.1": both, "127.0.0.1:40001": both,
		"10.0.0.7:8080": both, "[::1]": both, "[::1]:8080": both, "[fe80::1%eth0]:8080": both,
		"api:8080": private, "reroll-api.reroll.svc": private, "reroll-api.reroll.svc.cluster.local:8080": private, "reroll.corp.internal": private,
		"svc": private, "Reroll.Example:8080": private, "reroll.example.": private, "evillocalhost": private,
		"evil.example": none, "evil.example:8080": none, "evil.example.": none, "localhost.evil.example": none, "127.0.0.1.evil.example": none,
		"reroll.example.evil.example": none, "evilreroll.example": none, "cluster.local.evil.example": none, "0x7f000001": none, "2130706433": none,
		"127.1": none, "": none, ":8080": none,
	}
	for kind, least := range map[Hosts]int{LocalHosts: both, PrivateHosts: private} {
		f := newFixture(t)
		f.populate()
		o := Options{Hosts: kind, Logger: slog.New(slog.DiscardHandler)}
		if kind == PrivateHosts {
			o.HostNames = []string{"reroll.example"}
		}
		f.guardWith(t, o)
		ask := func(host, target string, allowed bool) {
			t.Helper()
			r := httptest.NewRequest(http.MethodGet, target, nil)
			r.Host = host
			w := f.do(t, r)
			if allowed != (w.Code == http.StatusOK) || !allowed && w.Code != http.StatusForbidden {
				t.Errorf("GET %s of %q, for hosts of kind %d: %d", target, host, kind, w.Code)
			}
			if !allowed {
				checkProblem(t, w)
			}
		}
		ask("evil.example", "/api/v1/changes", false)
		f.deniedOnce(t, deniedForeignHost)
		for _, target := range []string{"/openapi.json", "/"} {
			ask("evil.example", target, false)
			ask("localhost", target, true)
		}
		for host, by := range hosts {
			ask(host, "/api/v1/changes", by >= least)
		}
	}
}
