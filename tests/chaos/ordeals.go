package main

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"
)

// wipes is how many new contents are written while stores are wiped, and wipeEvery the mean time between two wipes.
const (
	wipes     = 2000
	wipeEvery = 5 * time.Second
)

// wipe kills the process at random moments of many edits, wherever it is, and takes NATS's files away, as the end of a pod with an emptyDir does.
func wipe(ctx context.Context, c *course) error {
	writing, stop := context.WithCancel(ctx)
	var writer sync.WaitGroup
	writer.Go(func() { c.writer.write(writing, ctx, c.options.Rate) })
	defer func() { stop(); writer.Wait() }()
	d := newDice(c.options.Seed, 2)
	for c.writer.updates.Load() < wipes && ctx.Err() == nil {
		pause(ctx, d.upTo(2*wipeEvery))
		var releases []func()
		for _, p := range c.rig.programs {
			releases = append(releases, p.hold())
		}
		err := errors.Join(os.RemoveAll(c.rig.file("data")), os.RemoveAll(c.rig.file("nats")))
		for _, release := range releases {
			release()
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
