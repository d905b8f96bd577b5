package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/tests/line"
)

// installed is how many workloads there are, each with a config of its own; lot is how many changes are measured together, and editors
// are who makes them.
const (
	installed = 5000
	lot       = 1000
	editors   = 8
)

// sizing measures what it takes to install Reroll beside workloads with a config each, to restart it, and what a thousand changes take.
func (b *bench) sizing(ctx context.Context) error {
	ns, err := b.namespace(ctx)
	if err != nil {
		return err
	}
	used, err := b.use(ctx)
	if err != nil {
		return err
	}
	row("idle", "%s", used)
	if used, err = b.install(ctx, ns, used); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	for _, step := range []struct {
		what string
		do   func(context.Context, string) error
	}{
		{"1,000 changes that roll one each", b.changeAll("web", "1")},
		{"1,000 more", b.changeAll("web", "2")},
		{"1,000 configs that nobody refers to", b.litter},
		{"1,000 changes of those", b.changeAll("noise", "1")},
	} {
		if err := step.do(ctx, ns); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		if err := b.idle(ctx); err != nil {
			return err
		}
		now, err := b.use(ctx)
		if err != nil {
			return err
		}
		row(step.what, "%s; then %.0f MB resident", now.since(used), now.memory)
		used = now
	}
	return nil
}

// usage is what a process has taken.
type usage struct {
	// cpu is in seconds, memory and heap, which holds no garbage, are in MB, and stored is in bytes of files.
	cpu, memory, heap float64
	stored            int64
}

func (u usage) String() string {
	return fmt.Sprintf("%.1f s of CPU, %.0f MB resident, %.1f MB of heap, %.1f MB stored", u.cpu, u.memory, u.heap, float64(u.stored)/(1<<20))
}

func (u usage) since(before usage) string {
	return fmt.Sprintf("%.1f s of CPU, %+.0f MB resident, %+.2f MB stored", u.cpu-before.cpu, u.memory-before.memory, float64(u.stored-before.stored)/(1<<20))
}

func (b *bench) use(ctx context.Context) (u usage, err error) {
	if u.cpu, err = cpuSeconds(b.line.Reroll.PID()); err != nil {
		return u, err
	}
	resident, _, err := b.line.Reroll.Memory()
	if err != nil {
		return u, err
	}
	u.memory = float64(resident) / (1 << 20)
	if u.heap, err = b.heapMB(ctx); err != nil {
		return u, err
	}
	err = filepath.WalkDir(b.line.DataDir(), func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return ignoreGone(err)
		}
		info, err := entry.Info()
		if err == nil {
			u.stored += info.Size()
		}
		return ignoreGone(err)
	})
	return u, err
}

// ignoreGone: NATS removes files while somebody looks.
func ignoreGone(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// ticks is how many units of time there are in a second of /proc.
const ticks = 100

// cpuSeconds returns how long a process has computed.
func cpuSeconds(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name in brackets may have spaces. User and system time are the 14th and 15th field.
	fields := strings.Fields(string(data[strings.LastIndex(string(data), ")")+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("process %d does not tell its time", pid)
	}
	user, err := strconv.ParseFloat(fields[11], 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticks, err
}

// each does something n times, a few at once.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(editors)
	for i := range n {
		g.Go(func() error { return do(ctx, i) })
	}
	return g.Wait()
}

// litter makes configs of nobody.
func (b *bench) litter(ctx context.Context, ns string) error {
	return each(ctx, lot, func(ctx context.Context, i int) error { return b.config(ctx, ns, fmt.Sprintf("noise-%d", i)) })
}

func (b *bench) config(ctx context.Context, ns, name string) error {
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": "0"}}
	_, err := b.client.CoreV1().ConfigMaps(ns).Create(ctx, config, metav1.CreateOptions{})
	return err
}

// changeAll changes each config of a name, and waits for the workloads that use them.
func (b *bench) changeAll(name, value string) func(context.Context, string) error {
	return func(ctx context.Context, ns string) error {
		rolled, err := line.WatchRolls(ctx, b.client, ns)
		if err != nil {
			return err
		}
		defer rolled.Stop()
		err = each(ctx, lot, func(ctx context.Context, i int) error {
			return b.setData(ctx, ns, fmt.Sprintf("%s-%d", name, i), value)
		})
		if err != nil || name != "web" {
			return err
		}
		return rolled.WaitTotal(ctx, lot)
	}
}
