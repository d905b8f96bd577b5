package dispatcher

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// roll writes the marks of the steps that need one, all in one patch, and returns the workload as it is then and the reload's ID.
// It writes nothing if no step needs a mark, if this very reload was done before, or in a dry run.
func (d *Dispatcher) roll(ctx context.Context, t *tracked, w *workload.Workload, steps []step) (*workload.Workload, string, error) {
	rolling := withOutcome(steps, reloader.ReasonReloaded)
	if d.Webhook != nil {
		return nil, "", d.notify(ctx, t, w, rolling)
	}
	all := append(rolling, withOutcome(steps, reloader.ReasonAlreadyCurrent)...)
	id := d.reloadID(w, all)
	target := d.strategyOf(w).Target(w)
	if d.reloadOn(w) == id && (len(rolling) == 0 || d.unfinished(t, steps, id)) {
		recovered(steps)
		return nil, id, nil
	}
	if len(rolling) == 0 || d.DryRun {
		return nil, id, nil
	}
	ops, err := d.patch(w, target, rolling, id, d.wanted(t))
	if err != nil {
		return nil, id, err
	}
	ops = append(ops, strategy.Annotate(target, BroughtAnnotation, broughtTo(target, rolling))...)
	rolled, err := d.Workloads.Roll(ctx, target, strategy.Roll{
		Ops: ops, FieldManager: workload.MarkManager, Name: d.rollName(w, rolling),
	})
	d.metrics.tried(err)
	if err == nil && target != w {
		rolled = w.Through(rolled)
	}
	return rolled, id, err
}

// unfinished reports whether the reload that w names as its last can be the one that steps are about, made by a process that ended
// before it could record it. It cannot if w was marked before the content was written, or if that reload is on record: then the
// name was brought back, as by a rollback, and so was the old template.
func (d *Dispatcher) unfinished(t *tracked, steps []step, id string) bool {
	for _, s := range steps {
		if s.outcome == reloader.ReasonReloaded && !s.deleted && !s.markedSince {
			return false
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.othersMarked(t, t.w) || !slices.Contains(t.recent, id)
}

// rollName names a roll after the changes behind it, so that content that comes back later makes another one.
func (d *Dispatcher) rollName(w *workload.Workload, rolling []step) string {
	causes := make([]reloader.Cause, len(rolling))
	for i, s := range rolling {
		causes[i] = reloader.Cause{Config: s.config, NewSum: s.latest.ID}
	}
	return reloader.ReloadID(d.Cluster, string(w.UID), causes)
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

// wanted returns the configs that t has to do with; nil if there may be more than are known.
func (d *Dispatcher) wanted(t *tracked) []reloader.Config {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(t.interest.Patterns) > 0 {
		return nil
	}
	wanted := slices.Collect(maps.Keys(t.edges))
	return slices.AppendSeq(wanted, maps.Keys(t.w.Template.References))
}

// patch returns the operations on target that bring w to the steps' content, if target is still as it was read.
func (d *Dispatcher) patch(w, target *workload.Workload, rolling []step, id string, wanted []reloader.Config) ([]strategy.Op, error) {
	ops := strategy.Precondition(target)
	var gone []reloader.Config
	for _, s := range rolling {
		if s.deleted {
			gone = append(gone, s.config)
		}
	}
	written, err := writeMarks(w, rolling)
	if err != nil {
		return nil, unmarkable{fmt.Errorf("mark %s: %w", w.Ref(), err)}
	}
	ops = append(ops, written...)
	if difference := configDigest(rolling, len(written) > 0); difference != "" {
		ops = append(ops, strategy.ConfigDigest(w, difference)...)
	}
	if chosen := d.strategyOf(w); chosen.Tidy != nil && d.marksGenerally(w, rolling) {
		wanted = slices.DeleteFunc(wanted, func(c reloader.Config) bool { return slices.Contains(gone, c) })
		ops = append(ops, chosen.Tidy(w, wanted, gone)...)
	}
	ops = append(ops, d.pauseOps(target)...)
	return append(ops, strategy.Annotate(target, LastReloadAnnotation, id)...), nil
}

// configDigest returns what makes the difference in the template where no mark does; empty if none is needed. The content of a config of
// another cluster has no other mark, and is told also where the marks of others are written.
func configDigest(rolling []step, marked bool) string {
	var contents []string
	for _, s := range rolling {
		if s.collides && (!marked || s.config.Cluster != "") {
			// The change's ID makes the value another one when the same content comes back.
			contents = append(contents, s.latest.New.Short()+"/"+s.latest.ID)
		}
	}
	return strings.Join(contents, ",")
}

// writeMarks returns the operations of every strategy that has marks to write.
func writeMarks(w *workload.Workload, rolling []step) ([]strategy.Op, error) {
	var placed []strategy.Placed
	for _, s := range rolling {
		for _, p := range s.places {
			mark := strategy.Mark{Config: s.config, Value: p.value, At: s.latest.VerifiedAt}
			placed = append(placed, strategy.Placed{Strategy: p.strategy, Mark: mark})
		}
	}
	return strategy.Write(w, placed)
}

// marksGenerally reports whether some dialect that asks for what is rolled has no marks of its own tool.
func (d *Dispatcher) marksGenerally(w *workload.Workload, rolling []step) bool {
	return slices.ContainsFunc(rolling, func(s step) bool {
		dl, known := d.Dialects.Named(s.why.Dialect)
		return !known || d.strategyBy(w, dl).Name == d.strategyOf(w).Name
	})
}

func (d *Dispatcher) reloadID(w *workload.Workload, steps []step) string {
	causes := make([]reloader.Cause, len(steps))
	for i, s := range steps {
		causes[i] = reloader.Cause{Config: s.config, NewSum: s.sum()}
	}
	return reloader.ReloadID(d.Cluster, string(w.UID), causes)
}
