package audit

import (
	"errors"
	"fmt"
)

// collector makes hints of the events of one body.
type collector struct {
	opts     Options
	batch    batch
	received int
	skipped  map[Skip]int
	// inflated is how much was decompressed so far.
	inflated int64
	// levels are what walkers read with, by how deep they are.
	levels []*level
}

func newCollector(opts Options) *collector {
	opts = opts.withDefaults()
	return &collector{opts: opts, batch: newBatch(opts), skipped: map[Skip]int{}}
}

func (c *collector) result() Result {
	return Result{Hints: c.batch.hints, Received: c.received, Skipped: c.skipped}
}

// room reports whether another event may be taken.
func (c *collector) room() error {
	if c.received < c.opts.Limits.MaxItems {
		return nil
	}
	return fmt.Errorf("%w: it holds more than %d events; %s", ErrTooLarge, c.received, c.opts.advice())
}

// take counts e and adds its hint.
func (c *collector) take(e *event) error {
	if err := c.room(); err != nil {
		return err
	}
	c.received++
	skip, err := c.batch.add(e)
	if skip != "" {
		c.skipped[skip]++
	}
	return err
}

// spoil counts an event that cannot be read.
func (c *collector) spoil() error {
	return c.take(&event{malformed: true})
}

// endsAll reports whether err is about a limit, which no event may go beyond without costing the others.
func endsAll(err error) bool { return errors.Is(err, ErrTooLarge) || errors.Is(err, ErrNoRoom) }
