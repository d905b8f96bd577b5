package main

import (
	"context"
	"fmt"
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
	// Configs and Workloads are how many there are.
	Configs, Workloads int
	// Window and Sweep are the flags --coalesce-window and --sweep-interval; Flags are more of them.
	Window, Sweep time.Duration
	Flags         []string
	// Binary is the reroll to run. Empty: that of the sources.
	Binary string
	// KillEvery and APIServerEvery are the mean times between two kills of a program and two ends of the API server. 0: none.
	KillEvery, APIServerEvery time.Duration
	// Weather is what the proxy does all the time. Nil: it changes.
	Weather *weather
	// QuietTime is how long Reroll may take to catch up, besides one sweep. 0: a minute, as is promised.
	QuietTime time.Duration
	// KeepLogs leaves the logs of a run with faults where they are, and says where.
	KeepLogs bool
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
	if o.QuietTime == 0 {
		o.QuietTime = promisedQuiet
	}
	ctx, cancel := context.WithTimeout(ctx, o.Time+o.Sweep+o.QuietTime+slack)
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
	if o.Weather != nil {
		r.proxy.set(*o.Weather)
	}
	if err := r.launch(ctx); err != nil {
		return report{}, fmt.Errorf("start reroll: %w", err)
	}
	c := &course{options: o, rig: r, world: w, witness: seen, writer: newWriter(w, newDice(o.Seed, 5)), tormentor: &tormentor{rig: r, options: o}}
	return c.through(ctx)
}

// course is a run on a rig that is ready.
type course struct {
	options   options
	rig       *rig
	world     *world
	witness   *witness
	writer    *writer
	tormentor *tormentor
}

// through goes through torment, quiet and judgement.
func (c *course) through(ctx context.Context) (report, error) {
	begun := time.Now()
	torment, stop := context.WithTimeout(ctx, c.options.Time)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- c.tormentor.torment(torment, ctx) }()
	c.writer.write(torment, ctx, c.options.Updates, c.options.Rate)
	stop()
	if err := <-done; err != nil {
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

// judgeEvery is how often it is looked at whether everything has come.
const judgeEvery = 100 * time.Millisecond

// settle waits until nothing is lost, for as long as is promised.
func (c *course) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Sweep+c.options.QuietTime)
	defer cancel()
	for count(c.judge(), lost) > 0 && ctx.Err() == nil {
		pause(ctx, judgeEvery)
	}
}

func (c *course) judge() []fault {
	var faults []fault
	for _, w := range c.world.workloads {
		faults = append(faults, judge(w.String(), c.writer.hashes(w), c.witness.history(w))...)
	}
	return faults
}
