package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"

	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/tests/line"
)

// collecting has the collector of garbage run so often that the heap is hardly more than what is in use.
const collecting = "GOGC=5"

// restart measures the start over many workloads, each with a config of its own: the first one, and one that finds everything as it was.
func (b *bench) restart(ctx context.Context) error {
	if err := b.idle(ctx); err != nil {
		return err
	}
	resident, _, err := b.line.Reroll.Memory()
	if err != nil {
		return err
	}
	row("no workloads", "%.0f MB resident", float64(resident)/1e6)
	empty, err := b.heaps(ctx)
	if err != nil {
		return err
	}
	b.line.Reroll.Kill()
	if err := b.fill(ctx); err != nil {
		return err
	}
	heading(fmt.Sprintf("%d workloads, each with a config of its own", b.workloads))
	first, err := b.begin(ctx)
	if err != nil {
		return err
	}
	row("first start → ready", "%s", ms(first))
	if err := b.noPatches(ctx); err != nil {
		return err
	}
	var ours, bare []time.Duration
	for range 3 {
		if err := b.line.Reroll.Terminate(ctx); err != nil {
			return err
		}
		took, err := b.lists(ctx)
		if err != nil {
			return err
		}
		bare = append(bare, took)
		if took, err = b.begin(ctx); err != nil {
			return err
		}
		ours = append(ours, took)
	}
	row("start → ready", "mean of 3 %s", mean(ours))
	row("  bare lists of both kinds", "mean of 3 %s", mean(bare))
	if err := b.noPatches(ctx); err != nil {
		return err
	}
	full, err := b.heaps(ctx)
	if err != nil {
		return err
	}
	for i, part := range parts {
		row("heap for each workload with its config", "%.1f KB, %s", (full[i]-empty[i])/float64(b.workloads)/1e3, part.name)
	}
	return nil
}

// parts are the processes whose heaps are measured: that of most installations, and the core without the memory of the API.
var parts = []struct {
	name  string
	flags []string
}{
	{"serve", nil},
	{"serve --components dispatch", []string{"--components", "dispatch"}},
}

// heaps returns the heap of each of parts.
func (b *bench) heaps(ctx context.Context) (heaps []float64, err error) {
	for _, part := range parts {
		bytes, err := b.heap(ctx, part.flags...)
		if err != nil {
			return nil, err
		}
		heaps = append(heaps, bytes)
	}
	return heaps, nil
}

// fill makes the workloads, in namespaces of 500, while no Reroll runs.
func (b *bench) fill(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	ns := ""
	for i := range b.workloads {
		if i%500 == 0 {
			var err error
			if ns, err = b.namespace(ctx); err != nil {
				return err
			}
		}
		name, ns := fmt.Sprintf("web-%d", i), ns
		g.Go(func() error {
			config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": strconv.Itoa(i)}}
			if _, err := b.client.CoreV1().ConfigMaps(ns).Create(ctx, config, metav1.CreateOptions{}); err != nil {
				return err
			}
			_, err := b.client.AppsV1().Deployments(ns).Create(ctx, line.Deployment(ns, name, optedIn, line.FromConfigMap(name)), metav1.CreateOptions{})
			return err
		})
	}
	return g.Wait()
}

// begin starts Reroll with flags, and returns how long it takes until it is ready.
func (b *bench) begin(ctx context.Context, flags ...string) (time.Duration, error) {
	began := time.Now()
	if err := b.line.Reroll.Start(flags...); err != nil {
		return 0, err
	}
	err := b.line.Reroll.WaitReady(ctx)
	return time.Since(began), err
}

// noPatches returns an error if a workload was written.
func (b *bench) noPatches(ctx context.Context) error {
	n, err := b.line.Kube.Metric(ctx, "apiserver_request_total", watched["workload patches"]...)
	if err == nil && n > 0 {
		err = fmt.Errorf("%.0f workloads were written, although nothing has changed", n)
	}
	return err
}

// lists reads what a start cannot do without, in pages of 500 as an informer does.
func (b *bench) lists(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return b.client.AppsV1().Deployments("").List(ctx, o)
	})
	if _, _, err := pages.List(ctx, metav1.ListOptions{}); err != nil {
		return 0, err
	}
	pages = pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return b.client.CoreV1().ConfigMaps("").List(ctx, o)
	})
	if _, _, err := pages.List(ctx, metav1.ListOptions{}); err != nil {
		return 0, err
	}
	return time.Since(began), nil
}

// atRest is for how long the heap has to shrink no more: NATS keeps blocks of its store that were read or written for ten seconds.
const atRest = 30 * time.Second

// heap restarts Reroll with flags so that it collects garbage all the time, and returns the bytes of its heap when it has nothing to do.
func (b *bench) heap(ctx context.Context, flags ...string) (float64, error) {
	if err := b.line.Reroll.Terminate(ctx); err != nil {
		return 0, err
	}
	b.line.Reroll.SetEnvironment([]string{collecting})
	defer b.line.Reroll.SetEnvironment(nil)
	if _, err := b.begin(ctx, flags...); err != nil {
		return 0, err
	}
	if err := b.idle(ctx); err != nil {
		return 0, err
	}
	least, shrunk := math.Inf(1), time.Now()
	for time.Since(shrunk) < atRest { // each question has a little garbage, until there is enough to collect
		now, err := b.line.Reroll.Metric(ctx, "go_memstats_heap_alloc_bytes")
		if err != nil {
			return 0, err
		}
		if now < 0.99*least {
			least, shrunk = now, time.Now()
		}
		pause := time.NewTimer(50 * time.Millisecond)
		<-pause.C
	}
	return least, nil
}
