package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
)

// serve is the one program of the shape of that name.
func (c *course) serve() *program { return c.rig.programs[0] }

// ops is where that program says how it is.
func (c *course) ops() *line.Reroll { return &line.Reroll{Ops: c.rig.ops[0]} }

// accuse takes down a fault that nobody can see at the API server.
func (c *course) accuse(kind, who, text string, args ...any) {
	c.found = append(c.found, fault{kind, who, fmt.Sprintf(text, args...)})
}

// noticeTime is how long Reroll may take to say that its disk is full, or that its store is somebody else's.
const noticeTime = 30 * time.Second

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

// fullDisk fills the disk while the writer writes, and makes room again. As long as it is full, ingest has to refuse with 503, and the
// process must not say that it is ready. Once there is room, it ends by itself, and is started again.
func fullDisk(ctx context.Context, c *course) error {
	return c.whileWriting(ctx, c.fillDisk)
}

func (c *course) fillDisk(ctx context.Context) error {
	pause(ctx, c.options.Time/4)
	refused, unavailable := c.rig.proxy.refused.Load(), c.rig.proxy.unavailable.Load()
	filled, err := c.rig.data.fill()
	if err != nil {
		return err
	}
	if !c.within(ctx, noticeTime, func() bool { return c.rig.proxy.unavailable.Load() > unavailable }) {
		c.accuse(untrue, "ingest", "the disk is full, and nothing is refused")
	}
	if !c.within(ctx, noticeTime, func() bool { return !c.ready(ctx) }) {
		c.accuse(untrue, "serve", "the disk is full, and it says that it is ready")
	}
	others := c.rig.proxy.refused.Load() - refused - (c.rig.proxy.unavailable.Load() - unavailable)
	if others > 0 {
		c.accuse(untrue, "ingest", "the disk is full, and %d batches are refused with another code than 503", others)
	}
	pause(ctx, c.options.Time/4)
	if err := os.Remove(filled); err != nil {
		return err
	}
	if err := c.rig.waitReady(ctx); err != nil {
		return fmt.Errorf("the disk has room again: %w", err)
	}
	pause(ctx, c.options.Time/4)
	return nil
}

// ready reports whether the process says that it is.
func (c *course) ready(ctx context.Context) bool {
	code, _, err := c.ops().Probe(ctx, "/readyz")
	return err == nil && code == http.StatusOK
}

// within waits until something is so, and reports whether it was in time.
func (c *course) within(ctx context.Context, limit time.Duration, so func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for !so() {
		if ctx.Err() != nil {
			return false
		}
		pause(ctx, judgeEvery)
	}
	return true
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

// writeFor has the writer write for a while.
func (c *course) writeFor(ctx context.Context, d time.Duration) {
	writing, stop := context.WithTimeout(ctx, d)
	defer stop()
	c.writer.write(writing, ctx, c.options.Updates, c.options.Rate)
}

// secondProcess starts another process on the same store, which must be refused and harm nobody.
func secondProcess(ctx context.Context, c *course) error {
	c.writeFor(ctx, c.options.Time/2)
	ctx, cancel := context.WithTimeout(ctx, noticeTime)
	defer cancel()
	any := "127.0.0.1:0"
	args := join(c.serve().args, []string{"--ingest-address", any, "--api-address", any, "--metrics-address", any})
	output, err := exec.CommandContext(ctx, c.serve().binary, args...).CombinedOutput()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ctx.Err() != nil || !strings.Contains(string(output), "store folder is in use") {
		c.accuse(untrue, "serve", "a second process on the same store: %v: %s", err, output)
	}
	if !c.ready(ctx) {
		c.accuse(untrue, "serve", "a second process on the same store, and the first is not ready any more")
	}
	c.writeFor(ctx, c.options.Time/2)
	return nil
}
