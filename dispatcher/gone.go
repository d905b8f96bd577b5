package dispatcher

import (
	"context"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// The mark of an absence is always the same where each config has its own, and where several have one together, it may be that which was there
// before. So neither proves by itself that somebody brought the workload to it, nor need writing it change anything.

// rollGone decides about a config that is gone and whose deletion is to roll w: with mark as the speaker's, among places. Nothing is to be done if
// each container that runs has started after it. If no mark makes a difference, the step collides.
func (d *Dispatcher) rollGone(ctx context.Context, w *workload.Workload, s step, e evidence, mark string, places []placed, shared bool) (step, error) {
	if d.avoidable(w, s, s.latest.VerifiedAt) {
		if newer, err := d.Workloads.StartedAfter(ctx, w, s.latest.VerifiedAt); err != nil || newer {
			s.outcome, s.mark = reloader.ReasonPodsNewer, e.mark
			return s, err
		}
	}
	s.outcome, s.mark, s.places = reloader.ReasonReloaded, mark, places
	s.collides = shared || e.marked && e.mark == mark || len(places) == 0 && d.strategyBy(w, e.speaker).Tidy == nil
	return s, nil
}

// avoidable reports whether s may have been seen to by somebody else: its change was on record before this process began, or before w was last
// written, and pods say what they run with. written is when the content was. Of a config of another cluster nobody here knows when: the clock of that
// one may be another.
func (d *Dispatcher) avoidable(w *workload.Workload, s step, written time.Time) bool {
	return s.config.Cluster == "" && d.instead() == reloader.ReasonReloaded && w.Roll() == workload.InPlace && (s.latest.VerifiedAt.Before(d.began) || writtenSince(w, written))
}

// provesAbsence reports whether the mark of e, which is that of the absence of a config of w, was made since the deletion that latest tells of. It was if
// that config makes a difference to it, it was another one before, and w was written since.
func (e evidence) provesAbsence(w *workload.Workload, h reloader.Handled, latest reloader.Change) bool {
	if e.speaker.Joint == nil || h.Mark == e.mark || e.speaker.Joint.IgnoredByMark != nil && e.speaker.Joint.IgnoredByMark(w, latest.Config) {
		return false
	}
	gone := latest.VerifiedAt
	if !latest.RequestedAt.IsZero() {
		gone = earlier(gone, latest.RequestedAt)
	}
	return !e.written.Before(gone.Truncate(time.Second))
}
