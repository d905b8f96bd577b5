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

// oldCopy puts a copy of the store in its place that is older than what was rolled since, while nobody edits anything: nothing may
// roll. Then the writer writes again.
func oldCopy(ctx context.Context, c *course) error {
	c.writeFor(ctx, c.options.Time/3)
	old := c.rig.file("old")
	if err := c.swap(func(store string) error { return os.CopyFS(old, os.DirFS(store)) }); err != nil {
		return err
	}
	if err := c.quiet(ctx); err != nil {
		return err
	}
	c.writeFor(ctx, c.options.Time/3)
	if err := c.quiet(ctx); err != nil {
		return err
	}
	before, _ := c.witness.rolls()
	if err := c.swap(func(store string) error { return errors.Join(os.RemoveAll(store), os.Rename(old, store)) }); err != nil {
		return err
	}
	if err := c.quiet(ctx); err != nil {
		return err
	}
	pause(ctx, c.options.Sweep+calm)
	if after, _ := c.witness.rolls(); after != before {
		c.accuse(doubled, "serve", "with a store of the past it made %d template changes by itself", after-before)
	}
	c.writeFor(ctx, c.options.Time/3)
	return nil
}

// swap does something to the store while nobody uses it.
func (c *course) swap(do func(store string) error) error {
	release := c.serve().hold()
	defer release()
	return do(c.rig.data.store())
}

// quiet waits until all is ready and nothing is lost.
func (c *course) quiet(ctx context.Context) error {
	err := c.rig.waitReady(ctx)
	c.settle(ctx)
	return err
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
