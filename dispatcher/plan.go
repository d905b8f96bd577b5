package dispatcher

import (
	"context"
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
	// mark is the value that the workload is to carry; it stays as it is if collides.
	mark     string
	collides bool
	// markedSince says that the workload was marked by somebody since the content was written.
	markedSince bool
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

// plan decides about every pending config of t by what is live now.
func (d *Dispatcher) plan(ctx context.Context, t *tracked) (*workload.Workload, []step, error) {
	d.mu.Lock()
	w := t.w
	// If somebody else rolled w, they may know newer content than we remember, which must not be overwritten.
	reuse := w.Roll() == workload.NewJob || d.reloadOn(w) == t.lastReload
	waiting := make(map[reloader.Config]cause, len(t.pending))
	handled := make(map[reloader.Config]reloader.Handled, len(t.pending))
	says := make(map[reloader.Config]evidence, len(t.pending))
	shared := d.sharedPlaces(t)
	for c, p := range t.pending {
		waiting[c] = cause{changes: slices.Clone(p.changes), force: p.force}
		handled[c], says[c] = t.handled[c], d.evidence(t, w, c)
	}
	d.mu.Unlock()

	steps := make([]step, 0, len(waiting))
	for c, p := range waiting {
		f, stored, err := d.current(ctx, c, reuse)
		if err != nil {
			return w, steps, err
		}
		s := step{config: c, changes: p.changes, latest: stored.Change}
		if n := len(s.changes); stored.Change.ID != s.changes[n-1].ID && stored.Change.Type == reloader.ChangeUpdated {
			s.changes = append(s.changes, stored.Change)
		}
		if f.absent {
			s, err = d.stepGone(ctx, w, s, f, handled[c])
			s.collides = s.outcome == reloader.ReasonReloaded && shared[c]
		} else {
			s = d.step(w, s, f, handled[c], p.force, says[c])
			s, err = d.satisfied(ctx, w, s, f)
		}
		if err != nil {
			return w, steps, err
		}
		steps = append(steps, s)
	}
	slices.SortFunc(steps, func(a, b step) int { return compareConfigs(a.config, b.config) })
	return w, steps, nil
}

// stepGone decides about a config that is not there: it ends what waited for its content, unless its deletion is to roll w, too.
func (d *Dispatcher) stepGone(ctx context.Context, w *workload.Workload, s step, f fact, handled reloader.Handled) (step, error) {
	s.why = d.decide(w, s.config, f)
	s.outcome = reloader.ReasonReverted // absence is no change; if it comes back it is compared again
	if !d.ReloadOnDelete || !comesAndGoes(s.config) || s.latest.Type != reloader.ChangeDeleted || handled.Sum == "" {
		return s, nil
	}
	ending, err := d.Configs.Terminating(ctx, s.config.Namespace)
	if err != nil {
		return s, fmt.Errorf("read namespace %s: %w", s.config.Namespace, err)
	}
	s.deleted = true
	carried, found := d.carried(w, s.config)
	switch {
	case ending:
		s.outcome = reloader.ReasonNamespaceEnds
	case !s.why.Reload:
		s.outcome = s.why.Why
	case w.Dormant != "":
		s.outcome = w.Dormant
	case d.strategyOf(w).Tidy != nil && !found:
		s.outcome = reloader.ReasonUnmarked
	case carried == strategy.DeletedValue:
		s.outcome, s.mark = reloader.ReasonAlreadyCurrent, strategy.DeletedValue
	default:
		s.outcome = reloader.ReasonReloaded
		if d.strategyOf(w).Tidy == nil {
			s.mark = strategy.DeletedValue
		}
	}
	return s, nil
}

// step decides about one config: an outcome that ends it, or ReasonReloaded, which is still to be done.
func (d *Dispatcher) step(w *workload.Workload, s step, f fact, handled reloader.Handled, force bool, e evidence) step {
	s.why = d.decide(w, s.config, f)
	mark := f.hashes[s.why.Dialect]
	same := handled.Sum == f.digest.Sum && handled.KeyID == f.digest.KeyID
	switch {
	case !force && same && !e.contradicts(handled, mark, versionOf(s.latest)):
		s.outcome, s.mark = reloader.ReasonReverted, handled.Mark
		return s
	case !s.why.Reload:
		s.outcome = s.why.Why
		return s
	case w.Dormant != "":
		s.outcome = w.Dormant
		return s
	}
	s.mark, s.markedSince = mark, e.since(f, s.latest)
	chosen := d.strategyOf(w)
	switch {
	case e.proves(mark, handled, f, s.latest):
		s.outcome = reloader.ReasonAlreadyCurrent
	case s.config.Cluster != "":
		// No tool marks workloads for configs of other clusters.
		s.outcome, s.collides = reloader.ReasonReloaded, true
	case e.marked && e.mark == mark, chosen.Taken != nil && chosen.Taken(w, s.config):
		s.outcome, s.collides = reloader.ReasonReloaded, true
	default:
		s.outcome = reloader.ReasonReloaded
	}
	return s
}

// satisfied finds that w need not be rolled for a change that was on record before this process began, or before w was last written: each
// container that runs has started after it. Whoever saw to that, be it another reloader before us or somebody while w was held back, did
// what the step is for.
func (d *Dispatcher) satisfied(ctx context.Context, w *workload.Workload, s step, f fact) (step, error) {
	if s.outcome != reloader.ReasonReloaded || d.instead() != reloader.ReasonReloaded || w.Roll() != workload.InPlace ||
		s.latest.Type != reloader.ChangeUpdated || !s.latest.VerifiedAt.Before(d.began) && !writtenSince(w, f.DataWritten) {
		return s, nil
	}
	newer, err := d.podsNewer(ctx, w, s.latest.VerifiedAt)
	if err == nil && newer {
		s.outcome, s.collides = reloader.ReasonPodsNewer, false
		s.mark, _ = d.carried(w, s.config)
	}
	return s, err
}

// writtenSince reports whether w, or the object whose pod template it runs, was written after t, if anybody says when that was. Without a
// write no other pods were started.
func writtenSince(w *workload.Workload, t time.Time) bool {
	return !t.IsZero() && (w.Written.After(t) || w.Via != nil && w.Via.Written.After(t))
}

// podsNewer reports whether some container of w runs, and none has started at t or before.
func (d *Dispatcher) podsNewer(ctx context.Context, w *workload.Workload, t time.Time) (bool, error) {
	older, err := d.Workloads.StartedBy(ctx, w, t)
	if err != nil || older {
		return false, err
	}
	return d.Workloads.StartedBy(ctx, w, time.Now().Add(time.Minute))
}

// sharedPlaces returns the configs of t whose mark has the place of another's. The caller holds mu.
func (d *Dispatcher) sharedPlaces(t *tracked) map[reloader.Config]bool {
	shares := d.strategyOf(t.w).Shares
	found := map[reloader.Config]bool{}
	for c := range t.pending {
		for o := range t.edges {
			found[c] = found[c] || shares != nil && o != c && shares(t.w, c, o)
		}
	}
	return found
}

func (d *Dispatcher) decide(w *workload.Workload, c reloader.Config, f fact) dialect.Decision {
	return d.Dialects.Decide(w, dialect.ConfigMeta{Config: c, Annotations: f.Annotations, Unselected: f.Unselected})
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
