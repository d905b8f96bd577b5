package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/line"
)

// restarts is how often the restart is measured.
const restarts = 5

// install measures the first start beside workloads that exist already, how many of them it writes, and restarts.
func (b *bench) install(ctx context.Context, ns string, before usage) (usage, error) {
	if err := b.line.Reroll.Terminate(ctx); err != nil {
		return usage{}, err
	}
	err := each(ctx, installed, func(ctx context.Context, i int) error {
		name := fmt.Sprintf("web-%d", i)
		if err := b.config(ctx, ns, name); err != nil {
			return err
		}
		_, err := b.client.AppsV1().Deployments(ns).Create(ctx, line.Deployment(ns, name, optedIn, line.FromConfigMap(name)), metav1.CreateOptions{})
		return err
	})
	err = errors.Join(err, os.RemoveAll(b.line.DataDir()), b.client.CoreV1().ConfigMaps("default").DeleteCollection(ctx,
		metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "reroll.dev/ledger"}))
	if err != nil {
		return usage{}, err
	}
	versions, err := b.versions(ctx, ns)
	if err != nil {
		return usage{}, err
	}
	took, cpu, err := b.readyAfter(ctx)
	if err == nil {
		err = errors.Join(b.waitTracked(ctx, ns, installed), b.idle(ctx))
	}
	if err != nil {
		return usage{}, err
	}
	now, err := b.versions(ctx, ns)
	if err != nil {
		return usage{}, err
	}
	written := 0
	for name, version := range now {
		if version != versions[name] {
			written++
		}
	}
	row("first start beside 5,000 workloads, 5,000 configs", "ready after %s and %.1f s of CPU, %d workloads written", ms(took), cpu, written)
	return b.restart(ctx, before)
}

func (b *bench) restart(ctx context.Context, before usage) (usage, error) {
	var all []time.Duration
	var used float64
	for range restarts {
		if err := b.line.Reroll.Terminate(ctx); err != nil {
			return usage{}, err
		}
		took, cpu, err := b.readyAfter(ctx)
		if err != nil {
			return usage{}, err
		}
		all, used = append(all, took), used+cpu
	}
	slices.Sort(all)
	row("restart", "median of %d: ready after %s, at most %s, mean %.1f s of CPU", restarts, ms(all[restarts/2]), ms(all[restarts-1]), used/restarts)
	if err := b.idle(ctx); err != nil {
		return usage{}, err
	}
	if b.profile != "" {
		heap, err := b.fetch(ctx, "heap?gc=1")
		if err := errors.Join(err, os.WriteFile(b.profile, heap, 0o600)); err != nil {
			return usage{}, err
		}
	}
	now, err := b.use(ctx)
	row("then", "%s", now)
	row("heap for each workload and its config", "%.1f KB", (now.heap-before.heap)*1024/installed)
	return now, err
}

// versions returns the versions of the workloads of a namespace.
func (b *bench) versions(ctx context.Context, ns string) (map[string]string, error) {
	list, err := b.client.AppsV1().Deployments(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, d := range list.Items {
		found[d.Name] = d.ResourceVersion
	}
	return found, nil
}

// readyAfter starts Reroll, and returns how long it takes until it says that it is ready, and how many seconds it has computed by then.
func (b *bench) readyAfter(ctx context.Context) (took time.Duration, cpu float64, err error) {
	began := time.Now()
	if err := b.line.Reroll.Start(); err != nil {
		return 0, 0, err
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		code, _, err := b.line.Reroll.Probe(ctx, "/readyz")
		if err == nil && code == http.StatusOK {
			took = time.Since(began)
			cpu, err = cpuSeconds(b.line.Reroll.PID())
			return took, cpu, err
		}
		select {
		case <-ctx.Done():
			return 0, 0, errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}

var heapAlloc = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`)

// heapMB returns the size of what is reachable on the heap.
func (b *bench) heapMB(ctx context.Context) (float64, error) {
	text, err := b.fetch(ctx, "heap?gc=1&debug=1")
	if err != nil {
		return 0, err
	}
	found := heapAlloc.FindSubmatch(text)
	if found == nil {
		return 0, errors.New("the profile of the heap does not tell its size")
	}
	n, err := strconv.ParseFloat(string(found[1]), 64)
	return n / (1 << 20), err
}

// fetch returns a profile of the process.
func (b *bench) fetch(ctx context.Context, profile string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.pprof+"/debug/pprof/"+profile, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	return io.ReadAll(response.Body)
}
