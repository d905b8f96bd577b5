package auditlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"time"

	"github.com/reroll-dev/reroll/ingest/audit"
	"github.com/reroll-dev/reroll/reloader"
)

// Tail reads an audit log. Its life is New, Run.
type Tail struct {
	opts    Options
	metrics *metrics
	health  health

	// saved is the place up to which everything is stored.
	saved place
	// file is what is being read, nil if there is nothing to read.
	file  *file
	lines lines
}

// New makes a Tail. Nothing is read yet.
func New(o Options) (*Tail, error) {
	if o.Sink == nil {
		return nil, errors.New("the audit log has no sink")
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	m, err := newMetrics(o.Registerer)
	if err != nil {
		return nil, fmt.Errorf("audit log metrics: %w", err)
	}
	return &Tail{opts: o, metrics: m, health: health{logger: o.Logger, failed: map[string]error{}}}, nil
}

// Run reads until ctx ends, and then returns nil. Whatever fails meanwhile is tried again and shows in Healthy.
func (t *Tail) Run(ctx context.Context) error {
	saved, err := load(t.opts.StatePath)
	if err != nil {
		t.opts.Logger.Warn("place in the audit log is unknown, reading the file that is being written", slog.Any("error", err))
	}
	t.saved = t.beginning()
	if saved != nil {
		t.saved = *saved
	}
	t.health.set(stepSave, t.saved.save(t.opts.StatePath))
	defer t.leave()
	for ctx.Err() == nil {
		if t.step(ctx) {
			continue
		}
		t.pause(ctx, t.opts.Limits.Poll)
	}
	return nil
}

// clockGrain is by how much the times of files may lag behind the clock.
const clockGrain = 20 * time.Millisecond

// beginning is the place before the file that is being written now, or will be.
func (t *Tail) beginning() place {
	p := place{Version: placeVersion, Done: order{Since: t.opts.Now().Add(-clockGrain).UTC()}}
	if info, err := os.Stat(t.opts.Path); err == nil {
		p.Done.Since = info.ModTime().UTC()
	}
	return p
}

func (t *Tail) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// step stores one batch, or goes to another file. It reports whether there may be more to do at once.
func (t *Tail) step(ctx context.Context) (more bool) {
	if t.file == nil {
		err := t.find()
		t.health.set(stepRead, err)
		if err != nil {
			return false
		}
	}
	// Whoever writes a new file has ended the old one: what is read from here on up to the end is all of it.
	current := t.isCurrent()
	batch := t.newBatch()
	found, err := t.gather(batch)
	if !t.store(ctx, batch) {
		return false
	}
	if errors.Is(err, errTruncated) || errors.Is(err, errOvertaken) {
		return t.rewind() == nil
	}
	t.health.set(stepRead, err)
	switch {
	case err != nil && t.file.compressed:
		t.opts.Logger.Error("compressed audit log cannot be read on", slog.String("file", t.file.rotated.Name), slog.Any("error", err))
		return t.advance(ctx)
	case err != nil:
		t.leave() // it is found again at the place that was just stored
		return false
	case found:
		return true
	case current:
		return false
	}
	return t.advance(ctx)
}

// newBatch returns a collector for a batch. Its lines are limited, and no event must make it stop.
func (t *Tail) newBatch() *audit.Collector {
	return audit.NewCollector(audit.Options{
		Cluster: t.opts.Cluster, Received: t.opts.Now(), Source: reloader.SourceAuditLog, KeepHelmReleases: t.opts.KeepHelmReleases,
		Limits: audit.Limits{MaxItems: math.MaxInt, MaxHints: math.MaxInt, MaxEventBytes: int64(t.opts.Limits.LineBytes) + 1},
	})
}

// errTruncated means that the file is shorter than what was read of it, or begins otherwise.
var errTruncated = errors.New("the file was truncated")

// errOvertaken means that another file comes before this one, of which nothing was taken yet.
var errOvertaken = errors.New("another file comes first")

// gather takes lines until the batch is full or no more are there, and reports whether there were any.
func (t *Tail) gather(batch *audit.Collector) (found bool, err error) {
	for n := 0; n < t.opts.Limits.BatchLines; {
		if line, ok := t.lines.next(); ok {
			t.add(batch, line)
			n, found = n+1, true
			continue
		}
		size, err := t.read()
		if err != nil || size == 0 {
			return found, err
		}
		found = true
	}
	return found, nil
}

// add takes a line. All that can stop it is a limit on what is compressed in it, which no API server writes.
func (t *Tail) add(batch *audit.Collector, line []byte) {
	if err := batch.Add(line); err != nil {
		t.opts.Logger.Warn("line of the audit log is taken in part", slog.Any("error", err))
	}
}

// read reads once. What it has read counts only if the file is still the same afterwards.
func (t *Tail) read() (int, error) {
	n, err := t.lines.fill(t.file)
	if err != nil && !errors.Is(err, io.EOF) && n == 0 {
		return 0, err
	}
	intact, err := t.file.intact()
	switch {
	case err == nil && !intact:
		err = errTruncated
	case err == nil && n > 0 && t.file.at == int64(n):
		err = t.checkTurn()
	}
	if err != nil {
		t.lines.drop(n)
		return 0, err
	}
	return n, nil
}

// isCurrent reports whether the file that is being read is the one that is being written, as far as its name tells.
func (t *Tail) isCurrent() bool {
	if t.file.rotated != nil {
		return false
	}
	named, err := os.Stat(t.opts.Path)
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	return t.file.same(named)
}

// use goes on with f.
func (t *Tail) use(f *file) {
	t.leave()
	t.file = f
	t.lines = lines{limit: t.opts.Limits.LineBytes, offset: f.at}
	t.opts.Logger.Info("reading audit log", slog.String("file", f.f.Name()), slog.Int64("offset", f.at))
}

// leave closes the file that is being read.
func (t *Tail) leave() {
	if t.file != nil {
		_ = t.file.close() // it was only read
		t.file = nil
	}
}
