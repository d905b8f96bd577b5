package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// step is the decision about one pending config of one workload.
type step struct {
	config  reloader.Config
	changes []reloader.Change
	// latest is the change that the workload is brought to.
	latest  reloader.Change
	outcome reloader.Reason
	why     dialect.Decision
	// mark is the value by which the workload is known to carry the content; it stays as it is if collides. places are the marks of all
	// dialects that ask, mark among them.
	mark     string
	places   []placed
	collides bool
	// markedSince says that the workload was marked by somebody since the content was written.
	markedSince bool
	// earlier says that the workload is known to have been brought to the content, but perhaps to an earlier write of it.
	earlier bool
	// deleted says that the workload is brought to the config's absence.
	deleted bool
}

// sum is the content that the step brings the workload to; empty if that is none.
func (s step) sum() string {
	if s.deleted {
		return ""
	}
	return s.latest.New.Sum
}

// plan decides about every pending config of t by what is live now, but for those of which another
// cluster tells nothing any more: these stay pending, and hold up t only if there is nothing else.
func (d *Dispatcher) plan(ctx context.Context, t *tracked) (*workload.Workload, []step, error) {
	w, waiting, reuse := d.undecided(t)
	steps := make([]step, 0, len(waiting))
	var refused error
	for _, u := range waiting {
		f, stored, err := d.current(ctx, u.config, reuse)
		if errors.As(err, &abroad{}) {
			if refused == nil || err.Error() < refused.Error() {
				refused = err
			}
			continue
		}
		if err != nil {
			return w, steps, err
		}
		if f, err = d.shown(w, u.config, f); err != nil {
			return w, steps, err
		}
		if f.unread {
			continue // it is not pending any more: see consented
		}
		s, err := d.withMissed(ctx, t, w, step{config: u.config, changes: u.changes, latest: stored.Change}, u.handled)
		if err != nil {
			return w, steps, err
		}
		if n := len(s.changes); stored.Change.ID != s.changes[n-1].ID && stored.Change.Type == reloader.ChangeUpdated {
			s.changes = append(s.changes, stored.Change)
		}
		if f.absent {
			s, err = d.stepGone(ctx, t, w, s, f, u)
		} else {
			s, err = d.stepLive(ctx, t, w, s, f, u.handled, u.force, u.says)
		}
		if err != nil {
			return w, steps, err
		}
		steps = append(steps, s)
	}
	if len(steps) == 0 {
		return w, nil, refused
	}
	slices.SortFunc(steps, func(a, b step) int { return compareConfigs(a.config, b.config) })
	return w, steps, nil
}

// stepGone decides about a config that is not there: it ends what waited for its content, unless its deletion is to roll w, too.
func (d *Dispatcher) stepGone(ctx context.Context, t *tracked, w *workload.Workload, s step, f fact, u undecided) (step, error) {
	s.why = d.decide(w, s.config, f)
	s.outcome = reloader.ReasonReverted // absence is no change; if it comes back it is compared again
	if !d.onDelete(w, s.config, f) || s.latest.Type != reloader.ChangeDeleted || u.handled.Sum == "" {
		return s, nil
	}
	ending, err := d.Configs.Terminating(ctx, s.config.Namespace)
	if err != nil {
		return s, fmt.Errorf("read namespace %s: %w", s.config.Namespace, err)
	}
	s.deleted = true
	mark, places, err := d.marksGone(ctx, t, w, s.config, f)
	if err != nil {
		return s, err
	}
	e := d.voiced(u.says, w, s.config, f)
	switch {
	case ending:
		s.outcome = reloader.ReasonNamespaceEnds
	case !s.why.Reload:
		s.outcome = s.why.Why
	case w.Dormant != "":
		s.outcome = w.Dormant
	case len(places) == 0 && !e.marked && d.strategyBy(w, e.speaker).Tidy != nil:
		s.outcome = reloader.ReasonUnmarked
	case e.provesVersion(f, s.latest), e.mark == strategy.DeletedValue && u.handled.Mark != strategy.DeletedValue,
		e.marked && e.mark == mark && e.provesAbsence(w, u.handled, s.latest):
		s.outcome, s.mark = reloader.ReasonAlreadyCurrent, e.mark
	default:
		return d.rollGone(ctx, w, s, e, mark, places, u.shared)
	}
	return s, nil
}

// marksGone returns the mark that the speaker has for the absence of c, and those of all dialects. A strategy that tidies up takes its
// mark away instead.
func (d *Dispatcher) marksGone(ctx context.Context, t *tracked, w *workload.Workload, c reloader.Config, f fact) (string, []placed, error) {
	var mark string
	var places []placed
	speaker := d.speaker(w, c, f)
	for _, dl := range d.asking(w, c, f) {
		by, value := d.strategyBy(w, dl), strategy.DeletedValue
		if dl.Joint != nil {
			values, err := d.joint(ctx, t, w, dl)
			if err != nil || len(values) == 0 {
				return "", nil, err
			}
			value = values[0]
		}
		if by.Tidy != nil || by.Taken != nil && by.Taken(w, c) {
			continue
		}
		places = append(places, placed{by, value})
		if dl == speaker {
			mark = value
		}
	}
	return mark, places, nil
}

// stepLive decides about one config that is there.
func (d *Dispatcher) stepLive(ctx context.Context, t *tracked, w *workload.Workload, s step, f fact, handled reloader.Handled, force bool, e evidence) (step, error) {
	e = d.voiced(e, w, s.config, f)
	values, err := d.values(ctx, t, w, s.config, f, e.speaker)
	if err != nil {
		return s, err
	}
	before := s
	s = d.step(w, before, f, handled, force, e, values)
	mixed, err := d.mixed(ctx, w, s, f, handled, e)
	if err != nil {
		return s, err
	}
	if mixed {
		e.disproved = true
		s = d.step(w, before, f, handled, true, e, values)
	}
	if s.outcome != reloader.ReasonReloaded {
		return s, nil
	}
	if s.places, err = d.places(ctx, t, w, s.config, f); err != nil {
		return s, err
	}
	if s, err = d.neverSeen(ctx, w, s, f, handled, force); err != nil {
		return s, err
	}
	return d.satisfied(ctx, w, s, f, e, handled)
}

// neverSeen finds that nobody has to be rolled for the creation of a config that only a dialect counts as a change: nothing of w has
// started without it.
func (d *Dispatcher) neverSeen(ctx context.Context, w *workload.Workload, s step, f fact, handled reloader.Handled, force bool) (step, error) {
	if force || handled.Sum != "" || d.ReloadOnCreate {
		return s, nil
	}
	older, err := d.Workloads.StartedBy(ctx, w, contentTime(f, s.latest))
	if err == nil && !older {
		s.outcome, s.mark, s.collides = reloader.ReasonPodsNewer, "", false
	}
	return s, err
}

// step decides about one config: an outcome that ends it, or ReasonReloaded, which is still to be done. values are the marks of what is
// live.
func (d *Dispatcher) step(w *workload.Workload, s step, f fact, handled reloader.Handled, force bool, e evidence, values []string) step {
	s.why = d.decide(w, s.config, f)
	mark := ""
	if len(values) > 0 {
		mark = values[0]
	}
	held := mark // what the mark is in the form that w carries
	if e.marked && e.speaker.ByContent() && slices.Contains(values, e.mark) {
		held = e.mark
	}
	same := handled.Sum == f.digest.Sum && handled.KeyID == f.digest.KeyID
	switch {
	case !force && same && !e.contradicts(handled, held, versionOf(s.latest)):
		s.outcome, s.mark = reloader.ReasonReverted, handled.Mark
		return s
	case !s.why.Reload:
		s.outcome = s.why.Why
		return s
	case w.Dormant != "":
		s.outcome = w.Dormant
		return s
	case !force && d.unused(w, s, f, handled):
		s.outcome, s.mark = reloader.ReasonKeysUnused, e.mark
		return s
	}
	s.mark, s.markedSince = mark, e.since(f, s.latest)
	chosen := d.strategyBy(w, e.speaker)
	switch {
	case e.marked && held != e.mark && slices.Contains(values, e.mark):
		s.outcome, s.mark = reloader.ReasonAlreadyCurrent, e.mark // made of versions, of which none comes twice
	case e.proves(held, handled, f, s.latest):
		s.outcome, s.mark, s.earlier = reloader.ReasonAlreadyCurrent, held, !e.provesVersion(f, s.latest)
	case mark == "", e.marked && e.mark == mark, chosen.Taken != nil && chosen.Taken(w, s.config):
		s.outcome, s.collides = reloader.ReasonReloaded, true
	default:
		s.outcome = reloader.ReasonReloaded
	}
	return s
}

// satisfied finds that w need not be rolled for a change that was on record before this process began, or before w was last written: each
// container that runs has started after it. Whoever saw to that, be it another reloader before us or somebody while w was held back, did
// what the step is for.
func (d *Dispatcher) satisfied(ctx context.Context, w *workload.Workload, s step, f fact, e evidence, handled reloader.Handled) (step, error) {
	if s.outcome != reloader.ReasonReloaded || s.latest.Type != reloader.ChangeUpdated || !d.avoidable(w, s, f.DataWritten) {
		return s, nil
	}
	newer, err := d.Workloads.StartedAfter(ctx, w, s.thereBy(f, handled))
	if err == nil && newer {
		s.outcome, s.collides = reloader.ReasonPodsNewer, false
		s.mark = e.mark
	}
	return s, err
}

// thereBy returns a time at which the content of f was certainly there: when we first saw it, or when it was written, if what we saw before
// leads to it by keys that were written alone. For a key that is taken away, nobody is named who could say when, and content that is older
// than what the workload was brought to came back.
func (s step) thereBy(f fact, handled reloader.Handled) time.Time {
	seen, written := s.latest.VerifiedAt, f.DataWritten
	if !written.Before(seen) || !written.After(handled.At) || !comesAndGoes(s.config) || !s.writes(handled) {
		return seen
	}
	if s.latest.RequestedAt.After(written) {
		written = s.latest.RequestedAt // somebody has written since, perhaps not data
	}
	return written
}

// writes reports whether the changes of s lead on from what handled says, and none of them takes a key away.
func (s step) writes(handled reloader.Handled) bool {
	if s.changes[0].Old.Sum != handled.Sum || s.changes[0].Old.KeyID != handled.KeyID {
		return false
	}
	return !slices.ContainsFunc(s.changes, func(c reloader.Change) bool {
		return c.Type != reloader.ChangeUpdated || len(c.Keys) == 0 || removes(c)
	})
}

// passesOver reports whether the config is gone and its absence is nothing to the workload.
func (s step) passesOver() bool {
	return s.outcome == reloader.ReasonReverted && s.latest.Type == reloader.ChangeDeleted && !s.deleted
}

// removes reports whether c took a key away. Who owned it owns nothing of it any more, and the API server keeps no time of that.
func removes(c reloader.Change) bool {
	return slices.ContainsFunc(c.Keys, func(k reloader.KeyChange) bool { return k.Op == reloader.KeyRemoved })
}

// writtenSince reports whether w, or the object whose pod template it runs, was written after t, if anybody says when that was. Without a
// write no other pods were started.
func writtenSince(w *workload.Workload, t time.Time) bool {
	return !t.IsZero() && (w.LastWritten.After(t) || w.Via != nil && w.Via.LastWritten.After(t))
}

func (d *Dispatcher) decide(w *workload.Workload, c reloader.Config, f fact) dialect.Decision {
	return d.planOf(w).Decide(d.metaOf(c, f))
}

// sameDecision reports whether two decisions say the same.
func sameDecision(a, b dialect.Decision) bool {
	return a.Reload == b.Reload && a.Dialect == b.Dialect && a.Why == b.Why && a.Clause == b.Clause
}

func withOutcome(steps []step, outcome reloader.Reason) []step {
	var found []step
	for _, s := range steps {
		if s.outcome == outcome {
			found = append(found, s)
		}
	}
	return found
}

func compareConfigs(a, b reloader.Config) int {
	return strings.Compare(a.String(), b.String())
}
