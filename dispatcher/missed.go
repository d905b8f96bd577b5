package dispatcher

import (
	"context"
	"fmt"
	"slices"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// withMissed puts before the changes of s those that its workload has missed as well, and that only the stream knows any more: a process that begins
// is told of the newest change of each config alone. Whoever made the last of them is not to be named for all.
func (d *Dispatcher) withMissed(ctx context.Context, t *tracked, w *workload.Workload, s step, handled reloader.Handled) (step, error) {
	first := s.changes[0]
	if d.DryRun || handled.How == "" || s.config.Cluster != "" || s.config.Namespace != w.Namespace || departs(handled, first) {
		// What a dry run has told of is not missed, though nobody was brought to it, what another cluster has seen is on record there, and what
		// was written to a config of another namespace may not have been shown then.
		return s, nil
	}
	kept, err := d.Changes.ChangesOf(ctx, d.Cluster, s.config)
	if err != nil {
		return s, fmt.Errorf("read changes of %s: %w", s.config, err)
	}
	before := missed(kept, handled, first)
	if len(before) == 0 {
		return s, nil
	}
	s.changes = firstAndNewest(append(before, s.changes...))
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := t.pending[s.config]; p != nil && p.changes[0].ID == first.ID {
		p.changes = firstAndNewest(append(before, p.changes...))
	}
	return s, nil
}

// departs reports whether c led away from the content that h says.
func departs(h reloader.Handled, c reloader.Change) bool {
	return c.Type != reloader.ChangeBaseline && c.Old.Sum == h.Sum && (h.Sum == "" || c.Old.KeyID == h.KeyID)
}

// missed returns the changes of kept that come before first and since a workload was brought to what h says, oldest first, each as it was told
// last. kept are the changes of a config, oldest first.
func missed(kept []reloader.StoredChange, h reloader.Handled, first reloader.Change) []reloader.Change {
	at := slices.IndexFunc(kept, func(k reloader.StoredChange) bool { return k.Change.ID == first.ID })
	var found []reloader.Change // newest first
	left := 0                   // how many of them there are from when the content of h was left on
	for _, k := range slices.Backward(kept[:max(0, at)]) {
		c := k.Change
		if n := len(found); c.Type == reloader.ChangeBaseline || n > 0 && found[n-1].ID == c.ID {
			continue
		}
		away, since := departs(h, c), c.VerifiedAt.After(h.At)
		arrived := c.Present() && c.New.Sum == h.Sum && c.New.KeyID == h.KeyID
		if left == 0 && arrived || !since && (left > 0 || !away) {
			break
		}
		if found = append(found, c); away {
			left = len(found)
		}
		if !since {
			break // it came while the workload was being rolled
		}
	}
	if left > 0 {
		found = found[:left]
	}
	slices.Reverse(found)
	return found
}

// firstAndNewest bounds changes, which are in the order of time, to maxCauses.
func firstAndNewest(changes []reloader.Change) []reloader.Change {
	if n := len(changes); n > maxCauses {
		return append(slices.Clone(changes[:maxCauses-1]), changes[n-1])
	}
	return slices.Clone(changes)
}
