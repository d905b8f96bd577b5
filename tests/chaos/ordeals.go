package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// serve is the one program of the shape of that name.
func (c *course) serve() *program { return c.rig.programs[0] }

// accuse takes down a fault that nobody can see at the API server.
func (c *course) accuse(kind, who, text string, args ...any) {
	c.found = append(c.found, fault{kind, who, fmt.Sprintf(text, args...)})
}

// whileWriting does something while the writer writes.
func (c *course) whileWriting(ctx context.Context, do func(context.Context) error) error {
	writing, stop := context.WithCancel(ctx)
	var writer sync.WaitGroup
	writer.Go(func() { c.writer.write(writing, ctx, c.options.Updates, c.options.Rate) })
	err := do(ctx)
	stop()
	writer.Wait()
	return err
}

// wipes is how many new contents are written while stores are wiped, and wipeEvery the mean time between two wipes.
const (
	wipes     = 2000
	wipeEvery = 5 * time.Second
)

// wipe kills every process at random moments of many edits, wherever each of them is, and takes NATS's files away, as the end of a pod with an
// emptyDir does. Every other time the processes of Reroll live on, if NATS is one of its own.
func wipe(ctx context.Context, c *course) error {
	writing, stop := context.WithCancel(ctx)
	defer stop()
	var writer sync.WaitGroup
	writer.Go(func() { defer stop(); c.writer.write(writing, ctx, wipes, c.options.Rate) })
	d := newDice(c.options.Seed, 2)
	for i := 0; writing.Err() == nil; i++ {
		if pause(writing, d.upTo(2*wipeEvery)); writing.Err() != nil {
			break
		}
		victims := c.rig.programs
		if c.options.Roles && i%2 == 1 {
			victims = victims[:1]
		}
		var releases []func()
		for _, p := range victims {
			releases = append(releases, p.hold())
		}
		err := errors.Join(os.RemoveAll(c.rig.data.store()), os.RemoveAll(c.rig.file("nats")))
		for _, release := range releases {
			release()
		}
		if err != nil {
			return err
		}
	}
	writer.Wait()
	return nil
}
