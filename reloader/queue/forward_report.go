package queue

import (
	"context"
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

// arrived takes note of how far the hub is.
func (f *Forwarder) arrived(kind reloader.RecordKind, at reloader.Position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	positions := maps.Clone(f.state.Positions)
	if positions == nil {
		positions = map[reloader.RecordKind]reloader.Position{}
	}
	if positions[kind] == at {
		return
	}
	positions[kind] = at
	f.state.Positions = positions
	f.hurry()
}

// report tells the hub the status of the cluster and how far its records are, as often as there is news.
func (f *Forwarder) report(ctx context.Context, h *hub) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.news:
		}
		err := h.remembers(ctx, f.Cluster, f.UID)
		if err == nil {
			err = f.putStatus(ctx, h)
		}
		if err != nil {
			f.hurry()
			return err
		}
		if !pause(ctx, reportInterval) {
			return ctx.Err()
		}
	}
}

// putStatus stores the newest status at the hub. Before there is one, it tells the position alone.
func (f *Forwarder) putStatus(ctx context.Context, h *hub) error {
	f.mu.Lock()
	s := reloader.ClusterStatus{Cluster: f.Cluster, UID: f.UID}
	if f.status != nil {
		s = *f.status
	}
	state := f.state
	state.At = time.Now()
	s.Forward = &state
	f.mu.Unlock()
	return h.q.PutClusterStatus(ctx, s)
}
