package queue

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/reroll-dev/reroll/reloader"
)

// BenchmarkPut stores requests of so many hints, one after another, with a sync of each.
func BenchmarkPut(b *testing.B) {
	for _, n := range []int{1, 16, 400} {
		b.Run(fmt.Sprintf("hints=%d", n), func(b *testing.B) {
			q := open(b, Options{MaxStore: 4 << 30, HintsMaxBytes: 2 << 30})
			batch := hints(n)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := q.Put(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "hints/s")
		})
	}
}

// BenchmarkPutWorkload stores one record from each of many callers at a time.
func BenchmarkPutWorkload(b *testing.B) {
	for _, callers := range []int{1, 32} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			q := open(b, Options{MaxStore: 4 << 30})
			records := make([]reloader.WorkloadRecord, 500)
			for i := range records {
				records[i] = record(fmt.Sprintf("workload-%d", i))
			}
			var next atomic.Int64
			b.SetParallelism(callers)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := q.PutWorkload(b.Context(), records[int(next.Add(1))%len(records)]); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
