package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"golang.org/x/sync/errgroup"
)

// memory prints Reroll's resident memory before and after many configs appear that nobody refers to.
func (b *bench) memory(ctx context.Context) error {
	heading(fmt.Sprintf("memory with %d ConfigMaps and %d Secrets of 20 KB that nobody refers to", b.configs, b.configs))
	before, err := residentMB(b.line.Reroll.PID())
	if err != nil {
		return err
	}
	ns, err := b.namespace(ctx)
	if err != nil {
		return err
	}
	content := strings.Repeat("x", 20<<10)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for i := range b.configs {
		g.Go(func() error {
			meta := metav1.ObjectMeta{Name: fmt.Sprintf("config-%d", i)}
			_, err := b.client.CoreV1().ConfigMaps(ns).Create(gctx, &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"k": content}}, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			_, err = b.client.CoreV1().Secrets(ns).Create(gctx, &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"k": content}}, metav1.CreateOptions{})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := b.idle(ctx); err != nil {
		return err
	}
	after, err := residentMB(b.line.Reroll.PID())
	if err != nil {
		return err
	}
	row("resident memory before, after", "%.0f MB, %.0f MB", before, after)
	return b.memoryAfterRestart(ctx)
}

func (b *bench) memoryAfterRestart(ctx context.Context) error {
	if err := b.line.Reroll.Terminate(ctx); err != nil {
		return err
	}
	if err := b.line.Reroll.Start(); err != nil {
		return err
	}
	if err := b.line.Reroll.WaitReady(ctx); err != nil {
		return err
	}
	restarted, err := residentMB(b.line.Reroll.PID())
	if err != nil {
		return err
	}
	row("  after a restart", "%.0f MB", restarted)
	return nil
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
