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

// batch gathers records for the hub.
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
}

// run stores a batch when it is full, at the end of a backlog, and when it is due.
func (b *batch) run(ctx context.Context, t *queue.Tail) error {
	for b.since = time.Now(); ; {
		due := b.at.At.Add(repeatTime)
		if b.dirty {
			due = b.since.Add(gatherTime)
		}
		next, cancel := context.WithDeadline(ctx, due)
		r, err := t.Next(next)
		cancel()
		switch {
		case err == nil:
			b.take(r)
			if full := len(b.records) == maxRecords || b.bytes >= maxBytes; !full && (!b.behind || r.Pending > 0) {
				continue
			}
		case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
			return err
		}
		if err := b.flush(ctx); err != nil {
			return err
		}
	}
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

// flush stores the batch at the hub.
func (b *batch) flush(ctx context.Context) (err error) {
	b.at.At = time.Now()
	if b.revision, err = b.h.append(ctx, b.records, b.at, b.revision); err != nil {
		return err
	}
	b.m.metrics.records.WithLabelValues(b.stream).Add(float64(len(b.records)))
	b.m.metrics.behind.WithLabelValues(b.stream).Set(float64(b.at.Behind))
	b.records, b.bytes, b.dirty, b.behind = nil, 0, false, b.at.Behind > 0
	return nil
}
