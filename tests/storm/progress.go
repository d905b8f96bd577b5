package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
)

// sample is how far it was at a time.
type sample struct {
	after time.Duration
	// struck says that all changes are verified, so that from here on it can only become less.
	struck                bool
	rolled, pending, held int
}

// sampler takes down what Reroll's metrics say.
type sampler struct {
	reroll  *line.Reroll
	witness *witness
	every   time.Duration
	start   time.Time
	changes int
	samples []sample
}

// run takes samples until done is set and nothing waits any more.
func (s *sampler) run(ctx context.Context, done *atomic.Bool) error {
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		over := done.Load()
		now, err := s.sample(ctx)
		if err != nil {
			return err
		}
		s.samples = append(s.samples, now)
		if over && now.pending == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *sampler) sample(ctx context.Context) (sample, error) {
	text, err := s.reroll.Metrics(ctx)
	if err != nil {
		return sample{}, err
	}
	rolls, _ := s.witness.seen()
	return sample{
		after: time.Since(s.start), struck: sum(text, "reroll_changes_total", `type="Updated"`) >= s.changes, rolled: len(rolls),
		pending: sum(text, "reroll_pending_workloads", ""), held: sum(text, "reroll_held_workloads", `reason="RateLimited"`),
	}, nil
}

// sum returns the sum of the samples of a metric that have a label.
func sum(text, name, label string) int {
	total := 0.0
	for sample := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(sample), name)
		if !ok || rest == "" || rest[0] != '{' && rest[0] != ' ' || !strings.Contains(rest, label) {
			continue
		}
		if n, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64); err == nil {
			total += n
		}
	}
	return int(total)
}

// askEvery is how often the API is asked: it answers nobody more often than a few times a second.
const askEvery = 500 * time.Millisecond

// ask asks the API until check returns nil, or ctx ends.
func ask(ctx context.Context, check func(context.Context) error) error {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// hold waits until the API says of some workload that the rate holds it back, and returns what it says.
func hold(ctx context.Context, l *line.Line, workload string) (line.Hold, error) {
	var h line.Hold
	err := ask(ctx, func(ctx context.Context) (err error) {
		if h, err = l.Reroll.Hold(ctx, namespace, workload); err == nil && h.Reason != "RateLimited" {
			err = fmt.Errorf("%s is held for %q", workload, h.Reason)
		}
		return err
	})
	return h, err
}
