package main

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// longest bounds a storm.
const longest = 20 * time.Minute

// run lets a storm come over a line of its own.
func run(ctx context.Context, o options) (result, error) {
	if o.Workloads%2 != 0 || o.Secrets != o.Workloads*3/2 {
		return result{}, fmt.Errorf("%d workloads need %d Secrets, and must be even", o.Workloads, o.Workloads*3/2)
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	l, err := line.Start(ctx, line.Options{
		Kube:  kube.Options{ControlPlaneOnly: true},
		Flags: []string{"--reloads-per-minute", strconv.Itoa(o.PerMinute), "--coalesce-window", o.Window.String()},
	})
	if err != nil {
		return result{}, err
	}
	defer l.Stop()
	w := &world{o, l.Kube.Client()}
	if err := w.create(ctx); err != nil {
		return result{}, fmt.Errorf("create the world: %w", err)
	}
	if err := o.waitBaselines(ctx, l); err != nil {
		return result{}, err
	}
	// Whoever watches leaves before the API server does.
	watching, leave := context.WithCancel(ctx)
	defer leave()
	seen, err := watch(watching, w.client)
	if err != nil {
		return result{}, err
	}
	return w.storm(ctx, l, seen)
}

// waitBaselines waits until Reroll knows what every workload was brought to.
func (o options) waitBaselines(ctx context.Context, l *line.Line) error {
	return ask(ctx, func(ctx context.Context) error {
		settled, open, err := l.Reroll.Settled(ctx, namespace)
		if err == nil && (len(settled) != o.Workloads+o.Bystanders || open > 0) {
			err = fmt.Errorf("%d of %d workloads have their baselines", len(settled), o.Workloads+o.Bystanders)
		}
		return err
	})
}

// storm strikes, and looks on until everything has rolled.
func (w *world) storm(ctx context.Context, l *line.Line, seen *witness) (result, error) {
	r := result{options: w.options}
	s := &sampler{reroll: l.Reroll, witness: seen, every: w.SampleEvery, start: time.Now(), changes: w.Secrets}
	var done atomic.Bool
	sampled := make(chan error, 1)
	go func() { sampled <- s.run(ctx, &done) }()
	if err := w.strike(ctx); err != nil {
		return r, err
	}
	r.struck = time.Since(s.start)
	// The Secrets of this one changed last.
	var err error
	if r.hold, err = hold(ctx, l, workloadName(w.Workloads-1)); err != nil {
		return r, err
	}
	r.heldAfter, r.due = time.Since(s.start), time.Until(r.hold.Due)
	if err := seen.wait(ctx, w.Workloads); err != nil {
		return r, err
	}
	r.rolled = time.Since(s.start)
	done.Store(true)
	if err := <-sampled; err != nil {
		return r, err
	}
	r.samples = s.samples
	rolls, at := seen.seen()
	r.faults = append(append(r.notOnce(rolls), r.moved(rolls)...), r.hidden(r.samples)...)
	if r.due <= 0 || r.heldAfter+r.due > r.least()+late+r.struck+w.Window {
		r.faults = append(r.faults, "a workload that waits is due "+r.due.String()+" later, and that is not when the limit lets it go")
	}
	err = ask(ctx, func(ctx context.Context) (err error) {
		r.more, err = explain(ctx, l, rolls)
		return err
	})
	if err != nil {
		return r, err
	}
	if fast := tooFast(at, w.PerMinute); fast != "" {
		r.faults = append(r.faults, fast)
	}
	return r, w.afterwards(ctx, seen, &r)
}

// afterwards changes what nothing has changed so far. When that has gone the whole way, nothing of the storm is still under way, and
// no other workload may have rolled again.
func (w *world) afterwards(ctx context.Context, seen *witness, r *result) error {
	if err := w.stir(ctx); err != nil {
		return err
	}
	if err := seen.wait(ctx, w.Workloads+w.Bystanders); err != nil {
		return err
	}
	rolls, _ := seen.seen()
	for _, fault := range w.notOnce(rolls) {
		r.faults = append(r.faults, "afterwards "+fault)
	}
	return nil
}
