package main

import (
	"cmp"
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
	// Time bounds the torment, and Updates the new contents that are written in it, about Rate in a second.
	Time    time.Duration
	Updates int
	Rate    float64
	// Least is what must have happened before the torment ends, which may take half of Time longer.
	Least least
	// Others is how many specs of workloads somebody else writes in a second.
	Others float64
	// Configs and Workloads are how many there are.
	Configs, Workloads int
	// Window and Sweep are debounce.window and resyncInterval; Flags are more of them.
	Window, Sweep time.Duration
	Flags         []string
	// Binary is the reroll to run. Empty: that of the sources.
	Binary string
	// KillEvery and APIServerEvery are the mean times between two kills of a program and two ends of the API server. 0: none.
	KillEvery, APIServerEvery time.Duration
	// Victims are the programs that are killed. None: all.
	Victims []string
	// Away is the longest absence of what was killed. 0: 5 s.
	Away time.Duration
	// Cuts are how long Reroll is cut off from NATS, one after the other, evenly spread over Time. There is a NATS only with Roles.
	Cuts []time.Duration
	// Patience is the API server's first wait before it repeats a refused audit batch. 0: 300 ms.
	Patience time.Duration
	// Weather is what the proxy does all the time. Nil: it changes.
	Weather *weather
	// QuietTime is how long Reroll may take to catch up, besides one sweep. 0: a minute, as is promised.
	QuietTime time.Duration
	// KeepLogs leaves the logs of a run with faults where they are, and says where.
	KeepLogs bool
	// Ordeal is done to Reroll instead of the torment, and says when the writer writes. Nil: the torment.
	Ordeal func(context.Context, *course) error
	// Disk is the kind of file system that the embedded NATS has for itself, ext4. Empty: none, its files lie among others.
	Disk string
	// Meddle is done once all is quiet. Nil: nothing.
	Meddle func(context.Context, *world) error
}

const (
	// promisedQuiet is what is promised besides one sweep.
	promisedQuiet = time.Minute
	// slack is what a run may need besides torment and quiet: starts, and the end of what has begun.
	slack = 5 * time.Minute
	// longestTorment is how many times as long as planned the torment may last, if not enough has happened.
	longestTorment = 1.5
	// calm is how long, after everything has come, one more sweep is watched for what it should not do.
	calm = 3 * time.Second
)

// least is what a run must have seen at the least.
type least struct {
	// Kills are those of each program, and Restarts the ends of the API server.
	Kills, Restarts, Updates int
}

// withDefaults returns o with its gaps filled.
func (o options) withDefaults() options {
	o.QuietTime = cmp.Or(o.QuietTime, promisedQuiet)
	o.Away = cmp.Or(o.Away, longAbsence)
	o.Patience = cmp.Or(o.Patience, 300*time.Millisecond)
	return o
}

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
	o = o.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, longest(o.Time)+o.Sweep+o.QuietTime+slack)
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
		bystander: newBystander(w, newDice(o.Seed, 6)), tormentor: &tormentor{rig: r, options: o},
	}
	return c.through(ctx)
}

// longest returns how long a torment of a planned length may last.
func longest(planned time.Duration) time.Duration {
	return time.Duration(longestTorment * float64(planned))
}

// course is a run on a rig that is ready.
type course struct {
	options   options
	rig       *rig
	world     *world
	witness   *witness
	writer    *writer
	bystander *bystander
	tormentor *tormentor
	// found are the faults that nobody can see at the API server.
	found []fault
}

// through goes through torment, quiet and judgement.
func (c *course) through(ctx context.Context) (report, error) {
	begun := time.Now()
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
	tormented := time.Since(begun)
	quiet := time.Now()
	c.settle(ctx)
	caughtUp := time.Since(quiet)
	if c.options.Meddle != nil {
		if err := c.options.Meddle(ctx, c.world); err != nil {
			return report{}, err
		}
	}
	pause(ctx, c.options.Sweep+calm)
	faults := c.judge()
	c.rig.keep = len(faults) > 0 && c.options.KeepLogs
	return c.report(tormented, caughtUp, faults), ctx.Err()
}

// torment lets everybody do what they do until the time is over and enough has happened, or there are enough contents. It leaves
// everything running, and nothing half done. ctx bounds all of it.
func (c *course) torment(ctx context.Context) error {
	torment, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	var failed error
	all.Go(func() {
		defer stop()
		failed = c.tormentor.torment(torment, ctx)
	})
	all.Go(func() { c.bystander.edit(torment, ctx, c.options.Others) })
	all.Go(func() {
		defer stop()
		c.writer.write(torment, ctx, c.options.Updates, c.options.Rate)
	})
	c.last(torment)
	stop()
	all.Wait()
	return failed
}

// lookEvery is how often it is looked at whether enough has happened.
const lookEvery = time.Second

// last waits until the time is over and enough has happened, or ctx ends.
func (c *course) last(ctx context.Context) {
	whole, cancel := context.WithTimeout(ctx, longest(c.options.Time))
	defer cancel()
	pause(whole, c.options.Time)
	for whole.Err() == nil && !c.enough() {
		pause(whole, lookEvery)
	}
}

// enough reports whether all has happened that must.
func (c *course) enough() bool {
	least := c.options.Least
	for _, p := range c.rig.programs {
		if kills, _ := p.counts(); kills < least.Kills {
			return false
		}
	}
	return int(c.tormentor.ends.Load()) >= least.Restarts && int(c.writer.updates.Load()) >= least.Updates
}

// judgeEvery is how often it is looked at whether everything has come.
const judgeEvery = 100 * time.Millisecond

// settle waits until nothing is lost, for as long as is promised.
func (c *course) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Sweep+c.options.QuietTime)
	defer cancel()
	for count(c.marks(), lost) > 0 && ctx.Err() == nil {
		pause(ctx, judgeEvery)
	}
}

func (c *course) judge() []fault { return slices.Concat(c.found, c.marks()) }

// marks judges what the API server has shown of the workloads so far.
func (c *course) marks() []fault {
	var faults []fault
	for _, w := range c.world.workloads {
		faults = append(faults, judge(w.String(), c.writer.hashes(w), c.witness.history(w))...)
	}
	return faults
}
