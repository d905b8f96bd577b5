package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/tests/line"
)

// fanOuts measures one edit with more and more dependents.
func (b *bench) fanOuts(ctx context.Context) error {
	for _, dependents := range []int{60, 500, 2000} {
		if dependents > b.most {
			continue
		}
		if err := b.fanOut(ctx, dependents); err != nil {
			return fmt.Errorf("%d dependents: %w", dependents, err)
		}
	}
	return nil
}

// fanOut measures one edit with many dependents until the last of them is patched, and then a bare loop of parallel patches.
func (b *bench) fanOut(ctx context.Context, dependents int) error {
	heading(fmt.Sprintf("one config, %d dependents", dependents))
	ns, err := b.namespace(ctx)
	if err != nil {
		return err
	}
	if err := b.create(ctx, ns, "app", dependents, optedIn); err != nil {
		return err
	}
	if err := b.waitTracked(ctx, ns, dependents); err != nil {
		return err
	}
	var ours, bare []time.Duration
	rounds := 5
	if dependents <= 60 {
		rounds = 9 // they take no time, and scatter
	}
	for round := range rounds {
		// A workload that was written in the second of the edit is asked for its pods, which may be newer; the bare loop has just written all.
		if err := b.idle(ctx); err != nil {
			return err
		}
		took, err := b.once(ctx, ns, dependents, func() error { return b.setData(ctx, ns, "app", strconv.Itoa(round+1)) })
		if err != nil {
			return err
		}
		ours = append(ours, took)
		if err := b.idle(ctx); err != nil {
			return err
		}
		took, err = b.once(ctx, ns, dependents, func() error { return b.bareLoop(ctx, ns, dependents, strconv.Itoa(round)) })
		if err != nil {
			return err
		}
		bare = append(bare, took)
	}
	slices.Sort(ours)
	slices.Sort(bare)
	row("change → last patch", "median of %d %s", rounds, ms(ours[rounds/2]))
	row("  bare loop, 32 patches in parallel", "median of %d %s", rounds, ms(bare[rounds/2]))
	row("  ratio", "%.2f", float64(ours[rounds/2])/float64(bare[rounds/2]))
	return b.stages(ctx, ns, dependents)
}

// stages prints when each stage of the last fan-out was reached, by the reloads' own times.
func (b *bench) stages(ctx context.Context, ns string, dependents int) error {
	reloads, err := b.line.Reroll.Reloads(ctx, ns)
	if err != nil {
		return err
	}
	var first, last time.Duration
	reloads = reloads[:min(len(reloads), dependents)]
	for i, r := range reloads {
		took := r.PatchedAt.Sub(r.Causes[0].RequestedAt)
		if i == 0 || took < first {
			first = took
		}
		last = max(last, took)
	}
	c := reloads[0].Causes[0]
	row("  of the last round", "received %s, verified %s, first patch %s, last patch %s after the change",
		ms(c.ReceivedAt.Sub(c.RequestedAt)), ms(c.VerifiedAt.Sub(c.RequestedAt)), ms(first), ms(last))
	return nil
}

// once measures how long it takes until n workloads have rolled after cause. A watch event counts, ours or the bare loop's.
func (b *bench) once(ctx context.Context, ns string, n int, cause func() error) (time.Duration, error) {
	rolled, err := line.WatchRolls(ctx, b.client, ns)
	if err != nil {
		return 0, err
	}
	defer rolled.Stop()
	start := time.Now()
	if err := cause(); err != nil {
		return 0, err
	}
	if err := rolled.WaitTotal(ctx, n); err != nil {
		return 0, err
	}
	return time.Since(start), nil
}

func (b *bench) bareLoop(ctx context.Context, ns string, n int, mark string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(32)
	for i := range n {
		g.Go(func() error { return b.barePatch(ctx, ns, fmt.Sprintf("web-%d", i), mark) })
	}
	return g.Wait()
}
