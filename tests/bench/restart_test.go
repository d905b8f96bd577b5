//go:build nightly

package bench

import (
	"context"
	"math"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"

	"github.com/reroll-dev/reroll/tests/line"
)

// parts are the processes whose heaps are measured: that of most installations, and the core without the memory of the API.
var parts = map[string][]string{"serve": nil, "dispatch": {"--components", "dispatch"}}

// BenchmarkRestart: the start over many workloads, each with a config of its own: the first one, and those that find everything as it was, next to
// the lists that a start cannot do without. No workload is written.
func BenchmarkRestart(b *testing.B) {
	r := start(b, often, window1)
	idle(r)
	resident, _, err := r.Line.Reroll.Memory()
	r.Must(err)
	b.ReportMetric(float64(resident)/1e6, "idle-MB")
	empty := map[string]float64{}
	for part, flags := range parts {
		empty[part] = heap(r, flags)
	}
	r.Line.Reroll.Kill()
	for left := *workloads; left > 0; left -= 500 {
		fill(line.NewRoom(b, r.Line), min(left, 500), line.Auto, true)
	}
	b.ReportMetric(ms(begin(r)), "first-ms")
	var ours, bare []time.Duration
	for range 3 {
		r.Stop()
		bare = append(bare, lists(r))
		ours = append(ours, begin(r))
	}
	b.ReportMetric(ms(line.Percentile(ours, .5)), "start-ms")
	b.ReportMetric(ms(line.Percentile(bare, .5)), "bare-ms")
	if n, err := r.Line.Kube.Metric(b.Context(), "apiserver_request_total", `verb="PATCH"`, `resource="deployments"`); err != nil || n > 0 {
		b.Errorf("%v workloads were written, although nothing has changed: %v", n, err)
	}
	for part, flags := range parts {
		b.ReportMetric((heap(r, flags)-empty[part])/float64(*workloads)/1e3, part+"-KB/workload")
	}
}

// begin returns how long a start takes.
func begin(r *line.Room, flags ...string) time.Duration {
	r.T.Helper()
	began := time.Now()
	r.Start(flags...)
	return time.Since(began)
}

// lists reads all Deployments and ConfigMaps, in pages of 500 as an informer does.
func lists(r *line.Room) time.Duration {
	r.T.Helper()
	began := time.Now()
	for _, list := range []pager.ListPageFunc{
		func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return r.Client().AppsV1().Deployments("").List(ctx, o)
		},
		func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return r.Client().CoreV1().ConfigMaps("").List(ctx, o)
		},
	} {
		_, _, err := pager.New(list).List(r.Ctx(), metav1.ListOptions{})
		r.Must(err)
	}
	return time.Since(began)
}

// atRest is for how long the heap has to shrink no more: NATS keeps blocks of its store that were read or written for ten seconds.
const atRest = 30 * time.Second

// heap restarts Reroll so that it collects garbage all the time, and returns the bytes of its heap when it has nothing to do.
func heap(r *line.Room, flags []string) float64 {
	r.T.Helper()
	r.Stop()
	r.Line.Reroll.SetEnvironment([]string{"GOGC=5"}) // the heap is hardly more than what is in use
	defer r.Line.Reroll.SetEnvironment(nil)
	begin(r, flags...)
	idle(r)
	least, shrunk := math.Inf(1), time.Now()
	for time.Since(shrunk) < atRest { // each question has a little garbage, until there is enough to collect
		now, err := r.Line.Reroll.Metric(r.Ctx(), "go_memstats_heap_alloc_bytes")
		r.Must(err)
		if now < 0.99*least {
			least, shrunk = now, time.Now()
		}
		<-time.After(50 * time.Millisecond)
	}
	return least
}
