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
)

// lot is how many workloads, and how many changes, are measured together; editors are who makes them.
const (
	lot     = 1000
	editors = 8
)

// sizing measures what a thousand workloads, and a thousand changes, take of the process: each workload has a config of its own.
func (b *bench) sizing(ctx context.Context) error {
	ns, err := b.namespace(ctx)
	if err != nil {
		return err
	}
	used, err := b.use()
	if err != nil {
		return err
	}
	row("at the start", "%s", used)
	for _, step := range []struct {
		what string
		do   func(context.Context, string) error
	}{
		{"1,000 workloads with a config each", b.populate},
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
		now, err := b.use()
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
	// cpu is in seconds, memory in MB, and stored in bytes of files.
	cpu, memory float64
	stored      int64
}

func (u usage) String() string {
	return fmt.Sprintf("%.1f s of CPU, %.0f MB resident, %.1f MB stored", u.cpu, u.memory, float64(u.stored)/(1<<20))
}

func (u usage) since(before usage) string {
	return fmt.Sprintf("%.1f s of CPU, %+.0f MB resident, %+.2f MB stored", u.cpu-before.cpu, u.memory-before.memory, float64(u.stored-before.stored)/(1<<20))
}

func (b *bench) use() (u usage, err error) {
	if u.cpu, err = cpuSeconds(b.line.Reroll.PID()); err != nil {
		return u, err
	}
	if u.memory, err = residentMB(b.line.Reroll.PID()); err != nil {
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

func residentMB(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for text := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(text, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("process %d does not tell its memory", pid)
}

// each does something a thousand times, a few at once.
func each(ctx context.Context, do func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(editors)
	for i := range lot {
		g.Go(func() error { return do(ctx, i) })
	}
	return g.Wait()
}

// populate makes the workloads, and waits until each has a baseline.
func (b *bench) populate(ctx context.Context, ns string) error {
	err := each(ctx, func(ctx context.Context, i int) error {
		name := fmt.Sprintf("web-%d", i)
		if err := b.config(ctx, ns, name); err != nil {
			return err
		}
		_, err := b.client.AppsV1().Deployments(ns).Create(ctx, deployment(name, name, optedIn), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	return b.waitTracked(ctx, ns, lot)
}

// litter makes configs of nobody.
func (b *bench) litter(ctx context.Context, ns string) error {
	return each(ctx, func(ctx context.Context, i int) error { return b.config(ctx, ns, fmt.Sprintf("noise-%d", i)) })
}

func (b *bench) config(ctx context.Context, ns, name string) error {
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": "0"}}
	_, err := b.client.CoreV1().ConfigMaps(ns).Create(ctx, config, metav1.CreateOptions{})
	return err
}

// changeAll changes each config of a name, and waits for the workloads that use them.
func (b *bench) changeAll(name, value string) func(context.Context, string) error {
	return func(ctx context.Context, ns string) error {
		rolled, stop, err := b.rolls(ctx, ns)
		if err != nil {
			return err
		}
		defer stop()
		err = each(ctx, func(ctx context.Context, i int) error {
			return b.setData(ctx, ns, fmt.Sprintf("%s-%d", name, i), value)
		})
		if err != nil || name != "web" {
			return err
		}
		return await(ctx, rolled, lot)
	}
}
