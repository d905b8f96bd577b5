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
			f.guardWith(t, Options{LocalOnly: true, Logger: slog.New(slog.DiscardHandler)})
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
	f.guardWith(t, Options{LocalOnly: true, Logger: slog.New(slog.DiscardHandler)})
	r := httptest.NewRequest(http.MethodGet, "/api/v1/changes", nil)
	r.Host = "evil.example"
	if w := f.do(t, r); w.Code != http.StatusForbidden {
		t.Errorf("got %d, want 403", w.Code)
	}
	f.deniedOnce(t, deniedForeignHost)
}

// TestNamesElsewhere: where clients prove who they are, or whoever comes is let in anyway, the API has whatever name its Service has.
func TestNamesElsewhere(t *testing.T) {
	f := newFixture(t)
	r := httptest.NewRequest(http.MethodGet, "/api/v1/changes", nil)
	r.Host = "reroll.reroll.svc"
	if w := f.do(t, r); w.Code != http.StatusOK {
		t.Errorf("got %d, want 200", w.Code)
	}
}
