//go:build nightly

package bench

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"

	"github.com/reroll-dev/reroll/tests/line"
)

// BenchmarkRestart: the start over many workloads, each with a config of its own: the first one, and those that find everything as it was, next to
// the lists that a start cannot do without. No workload is written.
func BenchmarkRestart(b *testing.B) {
	r := start(b, often, window1)
	idle(r)
	resident, _, err := r.Line.Reroll.Memory()
	r.Must(err)
	b.ReportMetric(float64(resident)/1e6, "idle-MB")
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
	resident, _, err = r.Line.Reroll.Memory()
	r.Must(err)
	b.ReportMetric(float64(resident)/1e6, "full-MB")
}

// begin returns how long a start takes.
func begin(r *line.Room) time.Duration {
	r.T.Helper()
	began := time.Now()
	r.Start()
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
