package api

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestForeignNamesOfALoopback: a page whose name leads to the loopback has the origin of the API there, and must read nothing.
func TestForeignNamesOfALoopback(t *testing.T) {
	cases := map[string]bool{
		"localhost": true, "LOCALHOST:8080": true, "localhost.:8080": true, "reroll.localhost:8080": true,
		"127.0.0.1": true, "127.0.0.1:40001": true, "10.0.0.7:8080": true, "[::1]": true, "[::1]:8080": true, "[fe80::1%eth0]:8080": true,
		"evil.example": false, "evil.example:8080": false, "evil.example.": false, "localhost.evil.example": false, "evillocalhost": false,
		"127.0.0.1.evil.example": false, "0x7f000001": false, "127.1": false, "api:8080": false, "": false, ":8080": false,
	}
	for host, local := range cases {
		t.Run(host, func(t *testing.T) {
			f := newFixture(t)
			f.populate()
			f.guardWith(t, Options{Hosts: LocalHosts, Logger: slog.New(slog.DiscardHandler)})
			for _, target := range []string{"/api/v1/changes", "/openapi.json", "/"} {
				r := httptest.NewRequest(http.MethodGet, target, nil)
				r.Host = host
				w := f.do(t, r)
				if local != (w.Code == http.StatusOK) {
					t.Errorf("GET %s: %d", target, w.Code)
				}
				if !local {
					checkProblem(t, w)
				}
			}
		})
	}
	f := newFixture(t)
	f.guardWith(t, Options{Hosts: LocalHosts, Logger: slog.New(slog.DiscardHandler)})
	r := httptest.NewRequest(http.MethodGet, "/api/v1/changes", nil)
	r.Host = "evil.example"
	if w := f.do(t, r); w.Code != http.StatusForbidden {
		t.Errorf("got %d, want 403", w.Code)
	}
	f.deniedOnce(t, deniedForeignHost)
}

// TestForeignNamesOfAnOpenServer: a page that somebody inside has opened reads nothing from a server that lets in anyone who reaches it, if it has
// its own name lead there.
func TestForeignNamesOfAnOpenServer(t *testing.T) {
	cases := map[string]bool{
		"127.0.0.1:8080": true, "10.0.0.7": true, "localhost:8080": true, "api:8080": true, "reroll-api.reroll.svc": true,
		"reroll-api.reroll.svc.cluster.local:8080": true, "reroll.corp.internal": true, "Reroll.Example:8080": true, "reroll.example.": true,
		"evil.example": false, "reroll.example.evil.example": false, "evilreroll.example": false, "svc": true, "cluster.local.evil.example": false,
		"0x7f000001": false, "2130706433": false, "127.1": false, "": false, ":8080": false,
	}
	f := newFixture(t)
	f.guardWith(t, Options{Hosts: PrivateHosts, HostNames: []string{"reroll.example"}, Logger: slog.New(slog.DiscardHandler)})
	for host, allowed := range cases {
		t.Run(host, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/api/v1/changes", nil)
			r.Host = host
			if w := f.do(t, r); allowed != (w.Code == http.StatusOK) || !allowed && w.Code != http.StatusForbidden {
				t.Errorf("got %d", w.Code)
			}
		})
	}
}
