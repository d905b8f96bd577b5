package hub

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
)

// source is a stream of the cluster.
type source struct {
	stream string
	// subjects match what is forwarded of a cluster; none match everything.
	subjects func(cluster string) []string
	// counts says that each record counts, and not just the newest on its subject, so that one that was dropped is missing at the hub.
	counts bool
}

var sources = []source{
	{stream: queue.HistoryStream, subjects: func(string) []string { return nil }, counts: true},
	{stream: queue.StateStream, subjects: queue.StateOf},
}

// forward brings the records of a stream until ctx ends.
func (m *Member) forward(ctx context.Context, h *natsHub, s source) error {
	return queue.Retry(ctx, m.Logger.With("stream", s.stream), "forwarding was interrupted; it continues from the position at the hub", func() error {
		err := m.session(ctx, h, s)
		m.metrics.up.WithLabelValues(s.stream).Set(0)
		if ctx.Err() == nil {
			m.metrics.interruptions.WithLabelValues(s.stream).Inc()
		}
		return err
	})
}

// session forwards until something fails. A killed or second forwarder, a lost answer, a restored hub and a removed cluster are one case: the position
// at the hub is not the expected one, and is read again.
func (m *Member) session(ctx context.Context, h *natsHub, s source) error {
	at, revision, err := h.position(ctx, s.stream)
	if err != nil {
		return err
	}
	if at.UID != "" && at.UID != m.UID {
		return fmt.Errorf("%w at the hub: %s is the cluster with UID %.80q, and this one has UID %.80q; give this one another --cluster-name, or, if the "+
			"cluster was rebuilt, remove the old one: reroll hub remove %s", queue.ErrOtherCluster, m.Cluster, at.UID, m.UID, m.Cluster)
	}
	t, err := m.local.Tail(ctx, s.stream, at.Sequence, s.subjects(m.Cluster)...)
	if err != nil {
		return err
	}
	defer func() { t.Close() }()
	b := &batch{m: m, h: h, source: s, revision: revision, behind: true}
	if b.at, err = m.resume(ctx, at, s, t); err != nil {
		return err
	}
	if b.dirty = at.At.IsZero() || b.at.Sequence != at.Sequence; b.at.Sequence != at.Sequence {
		t.Close()
		if t, err = m.local.Tail(ctx, s.stream, b.at.Sequence, s.subjects(m.Cluster)...); err != nil {
			return err
		}
		if !t.Created.Equal(b.at.Stream) {
			return errors.New("the stream was made again meanwhile")
		}
	}
	m.metrics.up.WithLabelValues(s.stream).Set(1)
	m.metrics.behind.WithLabelValues(s.stream).Set(float64(t.Waiting()))
	return b.run(ctx, t)
}

// resume returns from where to continue. A stream that was made again is forwarded from its beginning.
func (m *Member) resume(ctx context.Context, at reloader.Position, s source, t *queue.Tail) (reloader.Position, error) {
	lost := func(to uint64) reloader.Position {
		gap := reloader.Gap{Lost: true, After: min(at.Sequence, to), At: time.Now()}
		m.gap(s, gap)
		at = at.WithGap(gap)
		at.Stream, at.Sequence, at.Since, at.StoredAt = t.Created, to, to, time.Time{}
		return at
	}
	before := max(t.First, 1) - 1
	switch {
	case at.Stream.IsZero():
		return reloader.Position{Of: s.stream, UID: m.UID, Stream: t.Created, Sequence: before, Since: t.Last}, nil
	case !at.Stream.Equal(t.Created):
		return lost(before), nil
	case t.Last < at.Sequence:
		return lost(t.Last), nil
	case at.StoredAt.IsZero():
		return at, nil
	}
	// A stream that was restored from a backup may have grown past the position since.
	stored, found, err := m.local.At(ctx, s.stream, at.Sequence)
	if err == nil && found && !stored.At.Equal(at.StoredAt) {
		return lost(before), nil
	}
	return at, err
}

// gap counts and logs a gap.
func (m *Member) gap(s source, g reloader.Gap) {
	m.metrics.gaps.WithLabelValues(s.stream).Inc()
	m.Logger.Warn("records are missing at the hub", "stream", s.stream, "lost", g.Lost, "after", g.After, "missing", g.Records)
}
