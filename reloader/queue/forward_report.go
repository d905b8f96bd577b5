package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

// streamIdentity tells streams of one name apart that were made one after the other.
func streamIdentity(info *jetstream.StreamInfo) string {
	return info.Created.UTC().Format("20060102T150405.000000000")
}

// sameStream reports whether a position is one of the stream with that identity. A stream that was set back to an older state has a suffix.
func sameStream(position, is string) bool {
	base, _, _ := strings.Cut(position, "+")
	return base == is
}

// position returns how far the hub is.
func (f *Forwarder) position(kind reloader.RecordKind) reloader.Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state.Positions[kind]
}

// arrived takes note of how far the hub is, and of what is missing up to there. Both are told together: who goes on from there does not find
// the gaps again.
func (f *Forwarder) arrived(kind reloader.RecordKind, at reloader.Position, gaps ...reloader.Gap) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state.Positions[kind] == at && len(gaps) == 0 {
		return
	}
	positions := maps.Clone(f.state.Positions)
	if positions == nil {
		positions = map[reloader.RecordKind]reloader.Position{}
	}
	positions[kind] = at
	f.state.Positions = positions
	for _, g := range gaps {
		f.state = f.state.WithGap(g)
	}
	f.hurry()
}

// goBack takes note that the hub has lost records of a kind after a position of theirs, whatever it was told.
func (f *Forwarder) goBack(kind reloader.RecordKind, to reloader.Position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if was, ok := f.lost[kind]; ok && was.Stream == to.Stream {
		to = lowered(was, to)
	}
	f.lost[kind] = to
}

// lowered returns the smaller one of two positions in a stream, with the furthest that either was thought to be.
func lowered(a, b reloader.Position) reloader.Position {
	return reloader.Position{Stream: a.Stream, Sequence: min(a.Sequence, b.Sequence), Withdrawn: max(a.Sequence, b.Sequence, a.Withdrawn, b.Withdrawn)}
}

// withdraw has the hub know no more that it had what it lost, before anything is brought on that word.
func (f *Forwarder) withdraw(ctx context.Context, h *hub) error {
	f.mu.Lock()
	lost := maps.Clone(f.lost)
	positions := maps.Clone(f.state.Positions)
	for kind, to := range lost {
		if at := positions[kind]; at.Stream == to.Stream {
			positions[kind] = lowered(at, to)
		}
	}
	f.state.Positions = positions
	f.mu.Unlock()
	if len(lost) == 0 {
		return nil
	}
	if err := f.tell(ctx, h); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.lost) // nothing is brought meanwhile, so that no more can be found to be lost
	return nil
}

// report tells the hub the status of the cluster and how far its records are, as often as there is news.
func (f *Forwarder) report(ctx context.Context, h *hub) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.news:
		}
		if err := f.tellWhoRemembers(ctx, h); err != nil {
			f.hurry()
			return err
		}
		if !pause(ctx, reportInterval) {
			return ctx.Err()
		}
	}
}

// known makes sure that the hub still knows this cluster and how far it is, after each time that the connection has come back, and else if that
// was not made sure of lately: what was removed meanwhile, or forgotten, is brought from where it is now, and not from where it was.
func (f *Forwarder) known(ctx context.Context, h *hub) error {
	h.asking.Lock()
	defer h.asking.Unlock()
	now := h.q.nc.Stats().Reconnects
	if now == h.reconnects && time.Since(h.confirmed) < reportInterval {
		return nil
	}
	has, err := h.hasTold(ctx, f.Cluster)
	if err == nil && (!has || now != h.reconnects) {
		err = f.tellWhoRemembers(ctx, h)
	}
	if err == nil {
		h.reconnects, h.confirmed = now, time.Now()
	}
	return err
}

func (f *Forwarder) tellWhoRemembers(ctx context.Context, h *hub) error {
	if err := h.remembers(ctx, f.Cluster, f.UID); err != nil {
		return err
	}
	return f.tell(ctx, h)
}

// hasTold reports whether a server of the hub says that the status is there from which we go on, or a later one. One that lags may deny it.
func (h *hub) hasTold(ctx context.Context, cluster string) (bool, error) {
	last, err := h.last(ctx, clustersStream, statusSubject(cluster))
	if err != nil {
		return false, fmt.Errorf("see what the hub was told: %w", err)
	}
	h.telling.Lock()
	defer h.telling.Unlock()
	return last.sequence >= h.told && (h.told == 0 || len(last.data) > 0), nil
}

// errSetBack ends a session at a hub that has an earlier status than it was told, or none.
var errSetBack = errors.New("the hub was set back to an earlier state, or somebody deleted there how far it is")

// tell stores the newest status at the hub, in the place of that from which we went on and of no other: it fails with errSetBack if that is
// not there any more. Another forwarder of this cluster may have stored a later one.
func (f *Forwarder) tell(ctx context.Context, h *hub) error {
	h.telling.Lock()
	defer h.telling.Unlock()
	for range maxOutrun {
		m, err := statusMessage(f.newest())
		if err != nil {
			return err
		}
		stored, err := h.put(ctx, m, h.told)
		if err == nil {
			h.told = stored
			return nil
		}
		if !errors.Is(err, reloader.ErrOutrun) {
			return fmt.Errorf("tell the hub the status: %w", err)
		}
		last, err := h.last(ctx, clustersStream, m.Subject)
		if err != nil {
			return fmt.Errorf("see what the hub was told: %w", err)
		}
		if last.sequence < h.told || h.told > 0 && len(last.data) == 0 {
			return errSetBack
		}
		h.told = last.sequence
	}
	return fmt.Errorf("tell the hub the status: %w", reloader.ErrOutrun)
}

// newest returns the newest status with how far the hub is. Before there is one, it tells that alone.
func (f *Forwarder) newest() reloader.ClusterStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := reloader.ClusterStatus{Cluster: f.Cluster, UID: f.UID}
	if f.status != nil {
		s = *f.status
	}
	state := f.state
	state.At, state.Asked = time.Now(), maps.Clone(f.asked)
	s.Forward = &state
	return s
}
