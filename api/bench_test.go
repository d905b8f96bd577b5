package api

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// BenchmarkReloads answers a page of 100 out of 20,000 reloads, next to a handler that does nothing in the same run.
func BenchmarkReloads(b *testing.B) {
	f := newFixture(b)
	for n := 1; n <= 20_000; n++ {
		f.records.AddReload(uint64(n), aReload(n))
		f.records.AddChange(uint64(n), aChange(n))
	}
	empty := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	benchmark := func(name string, h http.Handler, target string) {
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest("GET", target, nil)
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(httptest.NewRecorder(), r.Clone(b.Context()))
			}
		})
	}
	benchmark("empty handler", empty, "/api/v1/reloads")
	benchmark("self", f.handler, "/api/v1/self")
	benchmark("newest 100", f.handler, "/api/v1/reloads")
	benchmark("none of 100000 matches", f.handler, "/api/v1/reloads?name=none")
	benchmark("timeline", f.handler, "/api/v1/changes")
	benchmark("stats", f.handler, "/api/v1/stats?since=2026-11-21T12:00:00Z&until=2026-11-23T12:00:00Z")
}
