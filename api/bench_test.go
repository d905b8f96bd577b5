package api

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// BenchmarkReloads answers a page of 100 out of 100,000 reloads, beside a handler that does nothing in the same run.
func BenchmarkReloads(b *testing.B) {
	f := newFixture(b)
	for n := 1; n <= 100_000; n++ {
		f.records.AddReload(uint64(n), aReload(n))
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
	benchmark("version", f.handler, "/api/v1/version")
	benchmark("newest 100", f.handler, "/api/v1/reloads")
	benchmark("none of 100000 matches", f.handler, "/api/v1/reloads?name=none")
}
