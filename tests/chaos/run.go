package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// options say how to run. All times are real ones.
type options struct {
	// Seed decides every choice; what the scheduler makes of them differs from run to run.
	Seed uint64
	// Roles runs each role as a process of its own with an external NATS, and HA two of the dispatch role behind a Lease.
	// Otherwise there is one process with everything in it.
	Roles, HA bool
	// Time bounds the torment. In each second, about Rate contents are written, and other writers change Others specs of workloads.
	Time         time.Duration
	Rate, Others float64
	// Configs and Workloads are how many there are; the first is even.
	Configs, Workloads int
	// Window and Sweep are debounce.window and resyncInterval.
	Window, Sweep time.Duration
	// KillEvery and APIServerEvery are the mean times between two kills of a program and two ends of the API server. 0: none.
	KillEvery, APIServerEvery time.Duration
	// Cuts are how long Reroll is cut off from NATS, one after the other, evenly spread over Time. There is a NATS only with Roles.
	Cuts []time.Duration
	// Weather is what the proxy does all the time. Nil: it changes.
	Weather *weather
	// Ordeal is done to Reroll instead of the torment, and says when the writer writes. Nil: the torment.
	Ordeal func(context.Context, *course) error
	// Meddle is done once all is quiet. Nil: nothing.
	Meddle func(context.Context, *world) error
}

const (
	// promisedQuiet is what is promised besides one sweep.
	promisedQuiet = time.Minute
	// slack is what a run may need besides torment and quiet: starts, and the end of what has begun.
	slack = 5 * time.Minute
	// calm is how long, after everything has come, one more sweep is watched for what it should not do.
	calm = 3 * time.Second
)

func (o options) shape() string {
	switch {
	case o.HA:
		return "roles, two of dispatch"
	case o.Roles:
		return "roles"
	}
	return "serve"
}

// run torments Reroll and reports what the API server has seen. An error says that the rig failed, not Reroll.
func run(ctx context.Context, o options) (report, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Time+o.Sweep+promisedQuiet+slack)
	defer cancel()
	r, err := newRig(ctx, o)
	if err != nil {
		return report{}, err
	}
	defer r.stop()
	w := newWorld(o.Configs, o.Workloads)
	if err := r.connect(w); err != nil {
		return report{}, err
	}
	// No one has heard of what is older than Reroll.
	r.proxy.set(weather{Drop: 1})
	if err := w.create(ctx, firstContent); err != nil {
		return report{}, fmt.Errorf("create the world: %w", err)
	}
	h := &hot{world: w, dice: newDice(o.Seed, 7)}
	if err := h.create(ctx); err != nil {
		return report{}, fmt.Errorf("create a workload that reloads without a restart: %w", err)
	}
	seen := newWitness(w)
	watching, stop := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	defer func() { stop(); watchers.Wait() }()
	for _, kind := range kinds {
		watchers.Go(func() { seen.watch(watching, kind) })
	}
	if err := r.launch(ctx); err != nil {
		return report{}, fmt.Errorf("start reroll: %w", err)
	}
	r.proxy.set(weather{})
	if o.Weather != nil {
		r.proxy.set(*o.Weather)
	}
	c := &course{
		options: o, rig: r, world: w, witness: seen, writer: newWriter(w, newDice(o.Seed, 5)),
		bystander: &bystander{w, newDice(o.Seed, 6), map[string]int64{}}, hot: h, tormentor: &tormentor{rig: r, options: o},
	}
	return c.through(ctx)
}

// course is a run on a rig that is ready.
type course struct {
	options   options
	rig       *rig
	world     *world
	witness   *witness
	writer    *writer
	bystander *bystander
	hot       *hot
	tormentor *tormentor
}

// through goes through torment, quiet and judgement.
func (c *course) through(ctx context.Context) (report, error) {
	torment := c.torment
	if c.options.Ordeal != nil {
		torment = func(ctx context.Context) error { return c.options.Ordeal(ctx, c) }
	}
	if err := torment(ctx); err != nil {
		return report{}, err
	}
	if err := c.rig.waitReady(ctx); err != nil {
		return report{}, fmt.Errorf("after the torment: %w", err)
	}
	quiet := time.Now()
	c.settle(ctx)
	caughtUp := time.Since(quiet)
	if c.options.Meddle != nil {
		if err := c.options.Meddle(ctx, c.world); err != nil {
			return report{}, err
		}
	}
	pause(ctx, c.options.Sweep+calm)
	faults := slices.Concat(c.marks(), c.hot.faults(ctx))
	c.rig.keep = len(faults) > 0 && c.options.Meddle == nil
	return c.report(caughtUp, faults), ctx.Err()
}

// torment lets everybody do what they do until the time is over. It leaves everything running, and nothing half done. ctx bounds all of it.
func (c *course) torment(ctx context.Context) error {
	torment, stop := context.WithTimeout(ctx, c.options.Time)
	defer stop()
	var all sync.WaitGroup
	var failed error
	all.Go(func() {
		defer stop()
		failed = c.tormentor.torment(torment, ctx)
	})
	all.Go(func() { c.bystander.edit(torment, ctx, c.options.Others) })
	all.Go(func() { c.hot.edit(torment, ctx) })
	all.Go(func() { c.writer.write(torment, ctx, c.options.Rate) })
	all.Wait()
	return failed
}

// judgeEvery is how often it is looked at whether everything has come.
const judgeEvery = 100 * time.Millisecond

// settle waits until nothing is lost, for as long as is promised.
func (c *course) settle(ctx context.Context) {
	quiet := promisedQuiet
	if c.options.Meddle != nil {
		quiet = time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.Sweep+quiet)
	defer cancel()
	for count(c.marks(), lost)+count(c.hot.faults(ctx), lost) > 0 && ctx.Err() == nil {
		pause(ctx, judgeEvery)
	}
}

// marks judges what the API server has shown of the workloads so far.
func (c *course) marks() []fault {
	var faults []fault
	for _, w := range c.world.workloads {
		faults = append(faults, judge(w.String(), c.writer.hashes(w), c.witness.history(w))...)
	}
	return faults
}
