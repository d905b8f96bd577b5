package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// The fleet of BenchmarkThousand, and how many changes a second its clusters make, each with a reload and a record of its workload.
const (
	benchClusters, benchWorkloads, benchConfigs = 1000, 100, 200
	benchRate                                   = 1000
)

// benchFleet is a projection of a fleet whose histories are full.
type benchFleet struct {
	*fixture
	seq                      uint64
	change, reload, workload []byte
}

func newBenchFleet(b *testing.B) *benchFleet {
	b.Helper()
	encode := func(v any) []byte {
		body, err := json.Marshal(v)
		must(b, err)
		return body
	}
	f := &benchFleet{newFixture(b), 0, encode(aChange(1)), encode(aReload(1)), encode(aWorkload("shop", "cart"))}
	for n := range benchClusters {
		s := aStatus()
		s.Cluster, s.At = fmt.Sprintf("c%03d", n), s.At.Add(time.Hour)
		if n%10 == 0 { // cut off
			s.At = s.At.Add(-2 * time.Hour)
		}
		f.records.PutCluster(s)
		for _, of := range []string{"HISTORY", "STATE"} {
			f.records.PutPosition(s.Cluster, reloader.Position{Of: of, UID: "u-0", Stream: start, Sequence: 1000, StoredAt: start, Since: 1, At: start})
		}
		for n := range benchConfigs {
			f.edit(b, s.Cluster, n, reloader.ChangeBaseline)
		}
	}
	for n := range 50 * benchClusters {
		f.edit(b, fmt.Sprintf("c%03d", n%benchClusters), n/benchClusters*7%benchConfigs, reloader.ChangeUpdated)
	}
	return f
}

// edit adds what comes from a cluster when a config changes.
func (f *benchFleet) edit(b *testing.B, cluster string, n int, what reloader.ChangeType) {
	var c reloader.Change
	var r reloader.Reload
	var w reloader.WorkloadRecord
	for body, v := range map[*[]byte]any{&f.change: &c, &f.reload: &r, &f.workload: &w} {
		must(b, json.Unmarshal(*body, v))
	}
	f.seq++
	now := time.Now()
	c.Cluster, c.Config.Name, c.Type, c.ID, c.VerifiedAt = cluster, fmt.Sprint("config-", n), what, fmt.Sprint("c-", f.seq), now
	w.Cluster, w.Workload.Name, w.Edges[0].Config = cluster, fmt.Sprint("web-", n/2), c.Config
	other := w.Edges[0]
	other.Config.Name = fmt.Sprint("config-", n^1)
	w.Edges = append(w.Edges, other)
	f.records.AddChange(f.seq, c)
	if what != reloader.ChangeBaseline {
		r.Cluster, r.Workload, r.ID, r.DecidedAt, r.PatchedAt = cluster, w.Workload, "r-"+c.ID, now, now.Add(time.Second)
		r.Causes[0].Config, r.Causes[0].ChangeID, r.Causes[0].RequestedAt = c.Config, c.ID, now.Add(-time.Duration(f.seq%5000)*time.Millisecond)
		f.records.AddReload(f.seq, r)
	}
	f.records.PutWorkload(w)
}

// BenchmarkThousand: how long the operations that look at all of a fleet of a thousand clusters take, while records come in.
func BenchmarkThousand(b *testing.B) {
	f := newBenchFleet(b)
	for _, target := range []string{"stats", "clusters?limit=500", "changes", "workloads?limit=500"} {
		b.Run(target, func(b *testing.B) {
			ended := make(chan struct{})
			done := make(chan struct{})
			go func() {
				defer close(done)
				tick := time.NewTicker(10 * time.Millisecond)
				defer tick.Stop()
				for n := 0; ; {
					select {
					case <-ended:
						return
					case <-tick.C:
					}
					for range benchRate / 100 {
						n++
						f.edit(b, fmt.Sprintf("c%03d", n%benchClusters), n/benchClusters*7%benchConfigs, reloader.ChangeUpdated)
					}
				}
			}()
			var took []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				began := time.Now()
				w := httptest.NewRecorder()
				f.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/"+target, nil))
				if took = append(took, time.Since(began)); w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
			}
			close(ended)
			<-done
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2].Seconds()*1000, "p50-ms")
			b.ReportMetric(took[len(took)*95/100].Seconds()*1000, "p95-ms")
		})
	}
}
