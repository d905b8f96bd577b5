package hub

import (
	"context"
	"errors"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
)

const (
	// maxRecords and maxBytes bound a batch, which also has the position: a server takes 1000 messages.
	maxRecords, maxBytes = 999, 4 << 20
	// gatherTime is how long a record waits for others, since a batch of two costs the hub about as much as one of fifty. The last records of a
	// backlog do not wait.
	gatherTime = time.Second
	// repeatTime is how often the position is written without records, so that a hub with a short age limit does not forget it.
	repeatTime = 24 * time.Hour
)

// batch gathers records while the hub stores those before them.
type batch struct {
	m *Member
	h *natsHub
	source
	at       reloader.Position
	revision uint64

	records []queue.Stored
	bytes   int
	// dirty says that the position differs from the last one that was sent to the hub.
	dirty bool
	// since is when the batch began.
	since time.Time
	// behind says that records are part of a backlog.
	behind bool
	// storing gets the result of the batch that the hub is storing; nil if there is none.
	storing chan result
}

type result struct {
	revision uint64
	err      error
}

func (b *batch) run(ctx context.Context, t *queue.Tail) error {
	ctx, cancel := context.WithCancel(ctx)
	defer func() { cancel(); _ = b.wait() }() // the next session reads how far the hub is
	for b.since = time.Now(); ; {
		due := b.since.Add(gatherTime)
		if !b.dirty && b.storing == nil {
			due = b.at.At.Add(repeatTime)
		}
		full, err := b.gather(ctx, t, due)
		if err == nil && (full || !time.Now().Before(due)) {
			err = b.flush(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// gather takes records until the batch is full or due, or has its first record, from which on it is due earlier. Full is also what ends a backlog.
func (b *batch) gather(ctx context.Context, t *queue.Tail, due time.Time) (full bool, err error) {
	next, cancel := context.WithDeadline(ctx, due)
	defer cancel()
	for first := !b.dirty; !full; {
		r, err := t.Next(next)
		if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		b.take(r)
		full = len(b.records) == maxRecords || b.bytes >= maxBytes || b.behind && r.Pending == 0
		if first {
			break
		}
	}
	return full, nil
}

// take adds a record. The cluster has dropped those missing before it.
func (b *batch) take(r queue.Stored) {
	if !b.dirty {
		b.dirty, b.since = true, time.Now()
	}
	if after := max(b.at.Sequence, b.at.Since); b.counts && r.Sequence > after+1 {
		gap := reloader.Gap{After: after, Records: r.Sequence - after - 1, At: time.Now()}
		b.m.gap(b.source, gap)
		b.at = b.at.WithGap(gap)
	}
	b.at.Sequence, b.at.StoredAt, b.at.Behind = r.Sequence, r.At, r.Pending
	if _, cluster := queue.CutSubject(r.Subject); cluster != b.m.Cluster {
		return // of a name that the cluster had before
	}
	b.records, b.bytes = append(b.records, r), b.bytes+len(r.Data)
}

// flush sends the batch to the hub after the one before is stored. It waits for the answer if this is the last batch for now.
func (b *batch) flush(ctx context.Context) error {
	if b.storing != nil {
		if err := b.wait(); err != nil || !b.dirty {
			return err
		}
	}
	b.at.At = time.Now()
	b.storing = make(chan result, 1)
	go func(done chan<- result, records []queue.Stored, at reloader.Position, revision uint64) {
		revision, err := b.h.append(ctx, records, at, revision)
		if err == nil {
			b.m.metrics.records.WithLabelValues(b.stream).Add(float64(len(records)))
			b.m.metrics.behind.WithLabelValues(b.stream).Set(float64(at.Behind))
		}
		done <- result{revision, err}
	}(b.storing, b.records, b.at, b.revision)
	b.records, b.bytes, b.dirty, b.since, b.behind = nil, 0, false, time.Now(), b.at.Behind > 0
	if b.behind {
		return nil
	}
	return b.wait()
}

// wait returns when the hub has stored what it was sent.
func (b *batch) wait() error {
	if b.storing == nil {
		return nil
	}
	stored := <-b.storing
	b.storing, b.revision = nil, stored.revision
	return stored.err
}
