package audit

import (
	"bytes"
	"errors"
	"fmt"
)

// Collector makes hints of events that come one after the other, such as the lines of an audit log. It is for one goroutine. What
// holds for the hints of one body of Decode holds for those of one Collector.
type Collector struct {
	opts     Options
	batch    batch
	received int
	skipped  map[Skip]int
	// inflated is how much was decompressed so far.
	inflated int64
	// levels are what walkers read with, by how deep they are.
	levels []*level
}

// NewCollector returns a Collector without events.
func NewCollector(opts Options) *Collector {
	opts = opts.withDefaults()
	return &Collector{opts: opts, batch: newBatch(opts), skipped: map[Skip]int{}}
}

// Add takes the events of one line, bare or in any envelope that DecodeShipped knows. What is no JSON is counted as SkipMalformed. An
// error means that one of the Limits is exceeded; then what the line held up to there is taken.
func (c *Collector) Add(line []byte) error { return c.open(bytes.NewReader(line), 0) }

// Result returns what was taken so far. It is valid until the next call of Add.
func (c *Collector) Result() Result {
	return Result{Hints: c.batch.hints, Received: c.received, Skipped: c.skipped}
}

// room reports whether another event may be taken.
func (c *Collector) room() error {
	if c.received < c.opts.Limits.MaxItems {
		return nil
	}
	return fmt.Errorf("%w: it holds more than %d events; %s", ErrTooLarge, c.received, c.opts.advice())
}

// take counts e and adds its hint.
func (c *Collector) take(e *event) error {
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
func (c *Collector) spoil() error {
	return c.take(&event{malformed: true})
}

// endsAll reports whether err is about a limit, which no event may go beyond without costing the others.
func endsAll(err error) bool { return errors.Is(err, ErrTooLarge) || errors.Is(err, ErrNoRoom) }
