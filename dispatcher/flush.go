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

// LastReloadAnnotation on a workload's metadata names the reload that last changed its template. A process that finds there the ID
// of what it is about to do knows that it was done already.
const LastReloadAnnotation = dialect.OwnPrefix + "last-reload"

// maxRereads is how often in a row a workload that moved under our hands is read and decided again before it has to wait.
const maxRereads = 5

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
}

// flush rolls a workload whose window has closed, or records why it does not roll.
func (d *Dispatcher) flush(ctx context.Context, ref reloader.WorkloadRef) time.Duration {
	t, wait := d.due(ref)
	if t == nil {
		return wait
	}
	decidedAt := time.Now()
	for range maxRereads {
		if !d.tracks(t) {
			return 0 // it was replaced or opted out; who took its place waits for itself
		}
		w, steps, err := d.plan(ctx, t)
		if err != nil {
			return d.holdBack(t, decidedAt, w, steps, err)
		}
		patched, id, err := d.roll(ctx, w, steps)
		if fateOf(err) == fateStale {
			if moved, readErr := d.reread(ctx, t, w); readErr != nil {
				return d.holdBack(t, decidedAt, w, steps, readErr)
			} else if moved {
				continue
			}
		}
		if err != nil {
			return d.holdBack(t, decidedAt, w, steps, err)
		}
		return d.conclude(t, w, patched, steps, id, decidedAt)
	}
	return again
}

// due returns the workload if it is to be flushed now, or how long to wait; 0 if there is nothing to do.
func (d *Dispatcher) due(ref reloader.WorkloadRef) (*tracked, time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.index.get(ref)
	if t == nil {
		return nil, 0
	}
	if len(t.pending) == 0 {
		d.relax(t)
		return nil, 0
	}
	if wait := time.Until(t.due); wait > 0 {
		return nil, wait
	}
	return t, 0
}

// relax ends the waiting of a workload that no longer depends on what it waited for. The caller holds mu.
func (d *Dispatcher) relax(t *tracked) {
	if t.hold != nil {
		d.settleQ.Add(t.w.Ref())
	}
	t.hold, t.attempts, t.first = nil, 0, time.Time{}
}

func (d *Dispatcher) tracks(t *tracked) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.index.get(t.w.Ref()) == t
}

// plan decides about every pending config of t by what is live now.
func (d *Dispatcher) plan(ctx context.Context, t *tracked) (*workload.Workload, []step, error) {
	d.mu.Lock()
	w := t.w
	// If somebody else rolled w, they may know newer content than we remember, which must not be overwritten.
	reuse := w.Annotations[LastReloadAnnotation] == t.lastReload
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
		steps = append(steps, d.step(w, s, f, handled[c], p.force))
	}
	slices.SortFunc(steps, func(a, b step) int { return compareConfigs(a.config, b.config) })
	return w, steps, nil
}

// step decides about one config: an outcome that ends it, or ReasonReloaded, which is still to be done.
func (d *Dispatcher) step(w *workload.Workload, s step, f fact, handled reloader.Handled, force bool) step {
	s.why = d.decide(w, s.config, f)
	switch {
	case f.absent:
		s.outcome = reloader.ReasonReverted // absence is never a change; if it comes back it is compared again
		return s
	case !force && handled.Sum == f.digest.Sum && handled.KeyID == f.digest.KeyID:
		s.outcome, s.mark = reloader.ReasonReverted, handled.Mark
		return s
	case !s.why.Reload:
		s.outcome = s.why.Why
		return s
	}
	s.mark = f.hashes[s.why.Dialect]
	carried, found := d.strategyOf(w).Current(w, s.config)
	switch {
	case found && carried == s.mark && handled.Mark != s.mark && writtenSince(w, f, s.latest):
		s.outcome = reloader.ReasonAlreadyCurrent
	case found && carried == s.mark:
		s.outcome, s.collides = reloader.ReasonReloaded, true
	default:
		s.outcome = reloader.ReasonReloaded
	}
	return s
}

// writtenSince reports whether w was certainly written after the content of f, so that the mark on w can have been made of it. An
// older mark is equal by collision or was brought back by a rollback. Both times have a resolution of one second: equal proves
// nothing. If nobody says when the content was written, the mark counts.
func writtenSince(w *workload.Workload, f fact, latest reloader.Change) bool {
	content := f.DataWritten
	if latest.RequestedAt.After(content) {
		content = latest.RequestedAt.Truncate(time.Second)
	}
	return w.Written.After(content)
}

func (d *Dispatcher) decide(w *workload.Workload, c reloader.Config, f fact) dialect.Decision {
	return d.Dialects.Decide(w, dialect.ConfigMeta{Config: c, Annotations: f.Annotations})
}

// roll writes the marks of the steps that need one, all in one patch, and returns the workload as it is then and the reload's ID.
// It writes nothing if no step needs a mark, if this very reload was done before, or in a dry run.
func (d *Dispatcher) roll(ctx context.Context, w *workload.Workload, steps []step) (*workload.Workload, string, error) {
	rolling := withOutcome(steps, reloader.ReasonReloaded)
	id := d.reloadID(w, append(rolling, withOutcome(steps, reloader.ReasonAlreadyCurrent)...))
	if w.Annotations[LastReloadAnnotation] == id {
		recovered(steps)
		return nil, id, nil
	}
	if len(rolling) == 0 || d.DryRun {
		return nil, id, nil
	}
	ops, err := d.patch(w, rolling, id)
	if err != nil {
		return nil, id, err
	}
	patched, err := d.Workloads.Patch(ctx, w, ops, d.fieldManager(rolling[0].why.Dialect))
	return patched, id, err
}

// recovered gives the steps that an earlier process brought about, but did not record, their true outcome.
func recovered(steps []step) {
	for i := range steps {
		if steps[i].outcome == reloader.ReasonAlreadyCurrent {
			steps[i].outcome = reloader.ReasonReloaded
		}
	}
}

// unmarkable is the error of a workload that cannot carry a mark.
type unmarkable struct{ error }

// patch returns the operations that bring w to the steps' content, if it is still the w that was read.
func (d *Dispatcher) patch(w *workload.Workload, rolling []step, id string) ([]strategy.Op, error) {
	ops := strategy.Precondition(w)
	var marks []strategy.Mark
	var collided []string
	for _, s := range rolling {
		if s.collides {
			// The change's ID makes the value another one when the same content comes back.
			collided = append(collided, s.latest.New.Short()+"/"+s.latest.ID)
			continue
		}
		marks = append(marks, strategy.Mark{Config: s.config, Value: s.mark, At: s.latest.VerifiedAt})
	}
	if len(marks) > 0 {
		written, err := d.strategyOf(w).Patch(w, marks)
		if err != nil {
			return nil, unmarkable{fmt.Errorf("mark %s: %w", w.Ref(), err)}
		}
		ops = append(ops, written...)
	}
	if len(collided) > 0 && len(marks) == 0 {
		ops = append(ops, strategy.ConfigDigest(w, strings.Join(collided, ","))...)
	}
	return append(ops, strategy.Annotate(w, LastReloadAnnotation, id)...), nil
}

func (d *Dispatcher) fieldManager(name string) string {
	for _, dl := range d.Dialects {
		if dl.Name == name {
			return dl.FieldManager
		}
	}
	return ""
}

func (d *Dispatcher) reloadID(w *workload.Workload, steps []step) string {
	causes := make([]reloader.Cause, len(steps))
	for i, s := range steps {
		causes[i] = reloader.Cause{Config: s.config, NewSum: s.latest.New.Sum}
	}
	return reloader.ReloadID(d.Cluster, string(w.UID), causes)
}

// reread brings t up to date after the API server refused a patch of w as outdated, and reports whether the workload had moved.
func (d *Dispatcher) reread(ctx context.Context, t *tracked, w *workload.Workload) (moved bool, err error) {
	live, err := d.Workloads.Read(ctx, w.Ref())
	if err != nil {
		return false, fmt.Errorf("read %s again: %w", w.Ref(), err)
	}
	if live.UID == w.UID && live.Generation == w.Generation && live.HasAnnotations == w.HasAnnotations {
		return false, nil
	}
	d.Track(live)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.index.get(w.Ref()) == t {
		t.w = live
	}
	return true, nil
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
