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
	others := d.othersMarked(t)
	waiting := make(map[reloader.Config]cause, len(t.pending))
	handled := make(map[reloader.Config]reloader.Handled, len(t.pending))
	for c, p := range t.pending {
		waiting[c] = cause{changes: slices.Clone(p.changes), force: p.force}
		handled[c] = t.handled[c]
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
		} else {
			s = d.step(w, s, f, handled[c], p.force, others)
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
func (d *Dispatcher) step(w *workload.Workload, s step, f fact, handled reloader.Handled, force, othersMarked bool) step {
	s.why = d.decide(w, s.config, f)
	switch {
	case !force && handled.Sum == f.digest.Sum && handled.KeyID == f.digest.KeyID:
		s.outcome, s.mark = reloader.ReasonReverted, handled.Mark
		return s
	case !s.why.Reload:
		s.outcome = s.why.Why
		return s
	case w.Dormant != "":
		s.outcome = w.Dormant
		return s
	}
	s.mark = f.hashes[s.why.Dialect]
	chosen := d.strategyOf(w)
	carried, found := d.carried(w, s.config)
	s.markedSince = markedSince(chosen.Target(w), f, s.latest)
	switch {
	case found && carried == s.mark && brought(chosen.Target(w), s.latest):
		s.outcome = reloader.ReasonAlreadyCurrent
	case found && carried == s.mark && handled.Mark != s.mark && s.markedSince && othersMarked:
		s.outcome = reloader.ReasonAlreadyCurrent
	case found && carried == s.mark, chosen.Taken != nil && chosen.Taken(w, s.config):
		s.outcome, s.collides = reloader.ReasonReloaded, true
	default:
		s.outcome = reloader.ReasonReloaded
	}
	return s
}

// markedSince reports whether w was marked no earlier than its content became what it is, so that its mark can have been made of it. An
// older mark is equal by collision or was brought back by a rollback. Kubernetes tells both times by the second. If nobody says when w
// was marked, its last write counts, and if nobody says when the content changed, any mark does: that it was written again as it was,
// as after a deletion, is no change.
func markedSince(w *workload.Workload, f fact, latest reloader.Change) bool {
	if latest.Type != reloader.ChangeUpdated {
		return true
	}
	content := f.DataWritten
	if verified := latest.VerifiedAt.Truncate(time.Second); verified.Before(content) {
		content = verified // it was there by then; what was written later was the same again
	}
	if !latest.RequestedAt.IsZero() {
		content = latest.RequestedAt.Truncate(time.Second)
	}
	if w.MarkedAt.IsZero() {
		return w.Written.After(content)
	}
	return !w.MarkedAt.Before(content)
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
