//go:build nightly

package bench

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

var (
	edits     = flag.Int("edits", 100, "single edits for each latency figure")
	most      = flag.Int("dependents", 2000, "largest number of dependents of one config")
	workloads = flag.Int("workloads", 5000, "workloads that are there at a start")
)

const (
	window0 = "debounce.window=0s"
	window1 = "debounce.window=1s"
)

// often has the API server send audit events every 20 ms, and seldom as its own defaults do.
var (
	often  = kube.Audit{BatchMaxWait: 20 * time.Millisecond}
	seldom = kube.Audit{BatchMaxWait: 100 * time.Millisecond, Throttle: true}
)

// start starts a line, and returns a room of it.
func start(b *testing.B, audit kube.Audit, flags ...string) *line.Room {
	b.Helper()
	b.ReportMetric(0, "ns/op") // which says nothing
	l, err := line.Start(b.Context(), line.Options{
		Kube: kube.Options{ControlPlaneOnly: true, Audit: &audit}, Flags: append([]string{"--set", "rolloutLimits.flapLimit=0", "--set"}, flags...),
	})
	line.Must(b, err)
	b.Cleanup(l.Stop)
	return line.NewRoom(b, l)
}

// fill makes n Deployments that use the ConfigMap app, or, if it is own, each one of its name, which is made.
func fill(r *line.Room, n int, annotations map[string]string, own bool) {
	r.T.Helper()
	g, ctx := errgroup.WithContext(r.Ctx())
	g.SetLimit(16)
	for i := range n {
		name, config := fmt.Sprint("web-", i), "app"
		g.Go(func() error {
			if own {
				config = name
				object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": strconv.Itoa(i)}}
				if _, err := r.Client().CoreV1().ConfigMaps(r.NS).Create(ctx, object, metav1.CreateOptions{}); err != nil {
					return err
				}
			}
			_, err := r.Client().AppsV1().Deployments(r.NS).Create(ctx, line.Deployment(r.NS, name, annotations, line.FromConfigMap(config)), metav1.CreateOptions{})
			return err
		})
	}
	r.Must(g.Wait())
}

// tracked makes n Deployments of the ConfigMap app, and waits until Reroll has their baselines.
func tracked(r *line.Room, n int) {
	r.T.Helper()
	r.Config("app", "0")
	fill(r, n, line.Auto, false)
	r.Await("baselines", func(ctx context.Context) error {
		settled, _, err := r.Line.Reroll.Settled(ctx, r.NS)
		if err == nil && len(settled) != n {
			err = fmt.Errorf("%d of %d workloads have one", len(settled), n)
		}
		return err
	})
}

// idle waits until Reroll has no more Events to write, which wait for a pause, and for the records before them: they would disturb what is next.
func idle(r *line.Room) {
	r.T.Helper()
	last, since := -1.0, time.Now()
	r.Await("no more Events", func(ctx context.Context) error {
		n, err := r.Line.Kube.Metric(ctx, "apiserver_request_total", `resource="events"`)
		if n != last {
			last, since = n, time.Now()
		}
		if err == nil && time.Since(since) < time.Second {
			err = fmt.Errorf("Events are still written")
		}
		return err
	})
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// at returns a percentile.
func at(p float64, took []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(took))
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}

func report(b *testing.B, what string, took []time.Duration) {
	b.Helper()
	b.ReportMetric(ms(at(.50, took)), what+"-p50-ms")
	b.ReportMetric(ms(at(.99, took)), what+"-p99-ms")
}

// barePatch changes the template of a Deployment.
func barePatch(ctx context.Context, r *line.Room, name, mark string) error {
	body := `{"spec":{"template":{"metadata":{"annotations":{"bare":"` + mark + `"}}}}}`
	_, err := r.Client().AppsV1().Deployments(r.NS).Patch(ctx, name, types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{})
	return err
}

// BenchmarkLatency: single edits, from the API server's answer to the writer until a watch shows the new template; next to the least that a tool
// could take that watches, a watch event and a patch with nothing between.
func BenchmarkLatency(b *testing.B) {
	for name, way := range map[string]struct {
		audit kube.Audit
		flags []string
	}{
		"window 0, events every 20 ms":   {often, []string{window0}},
		"window 0, watch":                {kube.Audit{}, []string{window0, "--source", "watch"}},
		"window 1s, events every 20 ms":  {often, []string{window1}},
		"window 0, events every 100 ms":  {seldom, []string{window0}},
		"window 1s, events every 100 ms": {seldom, []string{window1}},
	} {
		b.Run(name, func(b *testing.B) {
			r := start(b, way.audit, way.flags...)
			tracked(r, 1)
			report(b, "edit", edited(r))
			var batched, ours []time.Duration
			reloads, err := r.Line.Reroll.Reloads(b.Context(), r.NS)
			r.Must(err)
			for _, reload := range reloads {
				cause := reload.Causes[0]
				batched = append(batched, cause.ReceivedAt.Sub(cause.RequestedAt))
				ours = append(ours, reload.PatchedAt.Sub(cause.ReceivedAt))
			}
			report(b, "in-the-batch", batched)
			report(b, "in-Reroll", ours)

			idle(r)
			bare := line.NewRoom(b, r.Line)
			bare.Config("app", "0")
			fill(bare, 1, nil, false)
			w, err := bare.Client().CoreV1().ConfigMaps(bare.NS).Watch(b.Context(), metav1.ListOptions{FieldSelector: "metadata.name=app"})
			bare.Must(err)
			defer w.Stop()
			go func() {
				for event := range w.ResultChan() {
					if event.Type == watch.Modified {
						_ = barePatch(b.Context(), bare, "web-0", event.Object.(*corev1.ConfigMap).ResourceVersion) // a failure shows as a roll that never comes
					}
				}
			}()
			report(b, "bare", edited(bare))
		})
	}
}

// edited edits the ConfigMap app again and again, and returns how long each edit took.
func edited(r *line.Room) (took []time.Duration) {
	r.T.Helper()
	rolls, err := line.WatchRolls(r.Ctx(), r.Client(), r.NS)
	r.Must(err)
	defer rolls.Stop()
	for i := range *edits {
		r.Edit("app", strconv.Itoa(i+1))
		began := time.Now()
		r.Must(rolls.WaitTotal(r.Ctx(), i+1))
		took = append(took, time.Since(began))
		// What follows a roll is over when the next edit comes, and edits must not fall into step with the API server's batches.
		<-time.After(time.Duration(203+i*7%29) * time.Millisecond)
	}
	return took
}

// BenchmarkFanOut: one edit with many dependents until the last of them is patched, next to a loop of 32 patches in parallel.
func BenchmarkFanOut(b *testing.B) {
	for _, dependents := range []int{60, 500, 2000} {
		if dependents > *most {
			continue
		}
		b.Run(fmt.Sprint(dependents), func(b *testing.B) {
			r := start(b, often, window0)
			tracked(r, dependents)
			var ours, bare []time.Duration
			rounds := 5
			if dependents <= 60 {
				rounds = 9 // they take no time, and scatter
			}
			for round := range rounds {
				// A workload that was written in the second of the edit is asked for its pods, which may be newer; the bare loop has just written all.
				idle(r)
				ours = append(ours, until(r, dependents, func() { r.Edit("app", strconv.Itoa(round+1)) }))
				idle(r)
				bare = append(bare, until(r, dependents, func() {
					g, ctx := errgroup.WithContext(b.Context())
					g.SetLimit(32)
					for i := range dependents {
						g.Go(func() error { return barePatch(ctx, r, fmt.Sprint("web-", i), strconv.Itoa(round)) })
					}
					r.Must(g.Wait())
				}))
			}
			b.ReportMetric(ms(at(.5, ours)), "median-ms")
			b.ReportMetric(ms(at(.5, bare)), "bare-ms")
			b.ReportMetric(float64(at(.5, ours))/float64(at(.5, bare)), "ratio")
		})
	}
}

// until returns how long it takes until n workloads have rolled after cause.
func until(r *line.Room, n int, cause func()) time.Duration {
	r.T.Helper()
	rolls, err := line.WatchRolls(r.Ctx(), r.Client(), r.NS)
	r.Must(err)
	defer rolls.Stop()
	began := time.Now()
	cause()
	r.Must(rolls.WaitTotal(r.Ctx(), n))
	return time.Since(began)
}
