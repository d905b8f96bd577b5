package api

import "testing"

// BenchmarkStats counts all that is on record: how much room the answer takes while it is made.
func BenchmarkStats(b *testing.B) {
	const stored = 20_000
	f := newFixture(b)
	f.unchecked = true
	for n := 1; n <= stored; n++ {
		r := aReload(n)
		r.Workload.Name = []string{"cart", "till", "web"}[n%3]
		f.records.AddReload(uint64(n), r)
		if n%2 == 0 {
			f.records.AddChange(uint64(n), aChange(n))
		}
	}
	until := aReload(stored).DecidedAt.UTC().Format("2006-01-02T15:04:05Z")
	b.ReportAllocs()
	for b.Loop() {
		if w := f.get(b, "/api/v1/stats?since=2026-11-21T12:00:00Z&until="+until); w.Code != 200 {
			b.Fatal(w.Code, w.Body)
		}
	}
}
