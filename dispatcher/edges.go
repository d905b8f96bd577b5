package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// edges settles every edge of a workload: it finds what its patterns match, sees that each config has a latest change, and gives
// each edge that has none a baseline.
func (d *Dispatcher) edges(ctx context.Context, ref reloader.WorkloadRef) time.Duration {
	search := d.search(ref)
	d.makeRoom(ref)
	failed := d.expand(ctx, ref)
	d.mu.Lock()
	t := d.index.get(ref)
	if t == nil {
		d.mu.Unlock()
		return 0
	}
	d.sayCrowded(t)
	w := t.w
	open := slices.Collect(maps.Keys(t.edges))
	d.mu.Unlock()

	var refusals []error
	for _, c := range inTurn(ref, open) {
		switch err := d.settleEdge(ctx, t, w, c); fateOf(err) {
		case fateDone, fateGone:
		case fateNever:
			refusals = append(refusals, err)
		default:
			failed = err
		}
	}
	if failed == nil && refusals == nil {
		d.searched(t, search)
	}
	return d.edgesSettled(ref, t, joinSome(refusals), failed)
}

// inTurn sorts the configs of a workload, and has each workload begin at another one: workloads that depend on the same thousand configs would
// otherwise wait for each other at every one of them, since one look at a time serves all.
func inTurn(ref reloader.WorkloadRef, configs []reloader.Config) []reloader.Config {
	slices.SortFunc(configs, compareConfigs)
	if len(configs) == 0 {
		return nil
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(ref.String()))
	begin := int(h.Sum32() % uint32(len(configs)))
	return slices.Concat(configs[begin:], configs[:begin])
}

// maxRefusals bounds the refusals that are told of one workload.
const maxRefusals = 5

// joinSome joins the first of errs, and says how many there are more.
func joinSome(errs []error) error {
	if more := len(errs) - maxRefusals; more > 0 {
		errs = append(slices.Clone(errs[:maxRefusals]), fmt.Errorf("and %d more", more))
	}
	return errors.Join(errs...)
}

// makeRoom has the configs that a workload names become edges for which there was no room before.
func (d *Dispatcher) makeRoom(ref reloader.WorkloadRef) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.index.get(ref)
	if t == nil {
		return
	}
	t.crowded = ""
	for _, c := range t.interest.Names {
		d.index.link(t, c)
	}
}

// sayCrowded says which dependencies of t are left out, if that is news. It need not wait for the looks at the others, which may take long. The
// caller holds mu.
func (d *Dispatcher) sayCrowded(t *tracked) {
	if t.crowded != "" && t.crowded != t.told {
		d.Announcer.Complain(t.w, t.crowded)
		d.settleQ.Add(t.w.Ref())
	}
	t.told = t.crowded
}

// edgesSettled decides when the edges of t are looked at again. A config that the API server will not or cannot show must not keep the
// whole program from being ready, so it is tried again later; see trouble.go.
func (d *Dispatcher) edgesSettled(ref reloader.WorkloadRef, t *tracked, refused, failed error) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	own := d.tried(t, reading, failed)
	t.stuck = failed != nil
	if failed != nil {
		d.Logger.Warn("edges could not be settled", "workload", ref.String(), "error", failed)
		if own && t.refused != failed.Error() {
			t.refused = failed.Error()
			d.settleQ.Add(ref)
		}
		return again
	}
	d.sayCrowded(t)
	t.unsettled = refused == nil && t.lacksBaseline()
	if len(t.pending) == 0 {
		t.waited = time.Time{}
	}
	d.settleQ.Add(ref)
	if refused == nil {
		t.refused = ""
		if len(t.pending) == 0 && !d.asked(t) {
			d.letOff(t)
		}
		return 0
	}
	if t.refused != refused.Error() && errors.As(refused, &abroad{}) {
		d.Announcer.Complain(t.w, refused.Error())
	}
	t.refused = refused.Error()
	d.Logger.Warn("a config cannot be read", "workload", ref.String(), "error", refused)
	return retryRefused
}

// expand links the configs that a workload's patterns match. Where configs of a kind may not be listed, a pattern is matched
// against the names in hints instead.
func (d *Dispatcher) expand(ctx context.Context, ref reloader.WorkloadRef) error {
	d.mu.Lock()
	t := d.index.get(ref)
	var kinds []reloader.ConfigKind
	if t != nil {
		for _, kind := range reloader.ConfigKinds {
			if hasPattern(t, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	d.mu.Unlock()
	for _, kind := range kinds {
		configs, err := d.listConfigs(ctx, scope{kind, ref.Namespace})
		if fateOf(err) == fateNever {
			continue
		}
		if err != nil {
			return fmt.Errorf("list %ss of %s: %w", kind, ref.Namespace, err)
		}
		d.linkMatches(ref, t, slices.SortedFunc(maps.Keys(configs), compareConfigs))
	}
	return nil
}

// linkMatches makes those of configs that patterns of t match edges of t. Those that are on record come first: if they are too many, the same
// ones stay after a restart.
func (d *Dispatcher) linkMatches(ref reloader.WorkloadRef, t *tracked, configs []reloader.Config) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.index.get(ref) != t {
		return
	}
	var added []reloader.Config
	for _, c := range configs {
		_, doubted := t.doubted[c]
		switch known := doubted || t.handled[c].How != ""; {
		case !t.interest.Matches(c):
		case known:
			d.index.match(t, c)
		default:
			added = append(added, c)
		}
	}
	for _, c := range added {
		d.index.match(t, c)
	}
}

// settleEdge gives the edge from w to c a baseline if it has none, or finds that w missed a change.
func (d *Dispatcher) settleEdge(ctx context.Context, t *tracked, w *workload.Workload, c reloader.Config) error {
	f, stored, values, err := d.seenMarked(ctx, t, w, c)
	if err != nil {
		return err
	}
	d.mu.Lock()
	was := t.handled[c]
	if err := d.unanswered(c); err != nil && was.How == "" {
		d.mu.Unlock()
		return err
	}
	e := d.voiced(d.evidence(t, w, c), w, c, f)
	proven := e.marked && slices.Contains(values, e.mark)
	doubtful := was.How == "" || d.unrecorded(t, w, c, f, stored.Change, e, proven)
	d.mu.Unlock()
	var settle reloader.Handled
	if doubtful {
		if settle, err = d.judge(ctx, t, w, c, f, e, proven, was.How != ""); err != nil {
			return err
		}
		if settle.How == reloader.ReasonBaseline && outdated(was, f) {
			settle = reloader.Handled{}
		}
	}
	if err := d.lookBehind(ctx, t, c, was, stored.Change); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, edge := t.edges[c]; !edge || d.index.get(w.Ref()) != t {
		return nil
	}
	if t.handled[c] != was || doubtful && !t.w.Same(w) {
		t.unsettled = true // what was judged is not so any more: the workload was rolled, or what was known was dropped
		d.edgesQ.Add(w.Ref())
		return nil
	}
	delete(t.joined, c)
	switch {
	case !doubtful && stored.Change.ID != "":
		d.confront(t, stored.Change)
	case !doubtful:
	case settle.How == "":
		d.addPending(t, stored.Change, true)
	default:
		t.handled[c] = settle
		if settle.Sum == "" && !f.absent {
			d.confront(t, stored.Change)
		}
	}
	return nil
}

// seen returns what is known about c by a look of this process. Until the first sweep is over, one look serves all dependents: no
// hint is taken before that, so that any later change still has its hint to come.
func (d *Dispatcher) seen(ctx context.Context, c reloader.Config, hashed bool) (fact, reloader.StoredChange, error) {
	defer d.looks.lock(c)()
	f, ok, l := d.recall(c)
	if f.unread && !d.ready.Load() && d.forNobody(c, f.Meta) {
		return f, reloader.StoredChange{}, nil
	}
	if ok && !f.unread && !d.ready.Load() && (f.absent || (f.marks != nil || !hashed) && f.digest.Equal(l.Change.New)) {
		return f, l, nil
	}
	return d.lookLocked(ctx, c, nil, hashed)
}

// outdated reports whether f has certainly other content than h says.
func outdated(h reloader.Handled, f fact) bool {
	return !f.absent && h.Sum != "" && h.KeyID == f.digest.KeyID && h.Sum != f.digest.Sum
}

// unrecorded reports whether somebody rolled w and ended before recording it, or brought an older template back, so that what is recorded
// as handled is not what w runs with. The content may be the recorded one. Where we do not write, others do all the time. The caller
// holds mu.
func (d *Dispatcher) unrecorded(t *tracked, w *workload.Workload, c reloader.Config, f fact, latest reloader.Change, e evidence, proven bool) bool {
	if f.absent || f.Unproven || d.instead() != reloader.ReasonReloaded || w.Roll() == workload.NewJob {
		return false
	}
	was := t.handled[c]
	if e.marked {
		return !proven && e.mark != was.Mark && (d.reloadOn(w) != t.lastReload || e.unsaid(was))
	}
	return e.contradicts(was, "", versionOf(latest))
}

// judge says to which content an edge that is new to us was brought, by whom ever; proven says that it carries the mark of f, and known
// that it is not new, but what is on record of it is in doubt. The zero Handled means that w missed a change.
func (d *Dispatcher) judge(ctx context.Context, t *tracked, w *workload.Workload, c reloader.Config, f fact, e evidence, proven, known bool) (reloader.Handled, error) {
	h := reloader.Handled{KeyID: f.digest.KeyID, Sum: f.digest.Sum, How: reloader.ReasonBaseline, At: f.seen, Mark: e.mark, Brought: e.brought}
	if f.absent {
		h.KeyID, h.Sum = "", ""
		return h, nil
	}
	if f.Unproven {
		return h, nil // neither a mark nor a hint can be held against it
	}
	if proven {
		h.How = reloader.ReasonAlreadyCurrent
		return h, nil
	}
	if e.unreadable(d.Ring) {
		return h, nil
	}
	if e.mark == strategy.DeletedValue && !f.DataWritten.After(f.Created) && !d.countsCreation(w, c) {
		return h, nil // all that came after the mark is a creation
	}
	if known || e.marked && (edited(w, f) || !d.markedBefore(t, c, e)) {
		return d.judgeMark(ctx, t, w, c, f, h)
	}
	if d.madeSince(t, w, c, f) {
		return reloader.Handled{How: reloader.ReasonBaseline, At: f.seen, Brought: h.Brought}, nil // it was absent
	}
	return d.judgeHint(ctx, w, c, f, h)
}

// countsCreation reports whether the creation of c is a change for w.
func (d *Dispatcher) countsCreation(w *workload.Workload, c reloader.Config) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.onCreate(w, c)
}

// markedBefore reports whether the mark of e, which stands for several configs together, is older than the edge from t to c: it was on record
// for another one by then. So it was made without c, and says nothing about it.
func (d *Dispatcher) markedBefore(t *tracked, c reloader.Config, e evidence) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, joined := t.joined[c]; !joined || e.speaker.Joint == nil {
		return false
	}
	for o := range t.edges {
		if _, joined := t.joined[o]; !joined && t.handled[o].How != "" && t.handled[o].Mark == e.mark {
			return true
		}
	}
	return false
}

// judgeMark judges an edge by a mark that is not that of the content. It proves that a change was missed, unless it is the mark of
// another config that has the same place, or every container that runs has started after the content was written.
func (d *Dispatcher) judgeMark(ctx context.Context, t *tracked, w *workload.Workload, c reloader.Config, f fact, h reloader.Handled) (reloader.Handled, error) {
	another, err := d.marksAnother(ctx, t, w, c, h.Mark)
	if err != nil || another {
		return h, err
	}
	written := f.DataWritten
	if _, _, l := d.recall(c); l.Change.New.Equal(f.digest) && l.Change.VerifiedAt.Before(written) {
		written = l.Change.VerifiedAt // it was there by then; what was written later was not the content
	}
	if written.IsZero() {
		return reloader.Handled{}, nil
	}
	newer, err := d.Workloads.StartedAfter(ctx, w, written)
	if err != nil || !newer {
		return reloader.Handled{}, err
	}
	h.How = reloader.ReasonPodsNewer
	return h, nil
}

// marksAnother reports whether mark is that of another config of t whose mark has the same place as that of c.
func (d *Dispatcher) marksAnother(ctx context.Context, t *tracked, w *workload.Workload, c reloader.Config, mark string) (bool, error) {
	d.mu.Lock()
	speaker := d.speaker(w, c, d.facts[c])
	by := d.strategyBy(w, speaker)
	var others []reloader.Config
	for o := range t.edges {
		if samePlace(by, w, c, o) {
			others = append(others, o)
		}
	}
	d.mu.Unlock()
	for _, o := range others {
		f, _, err := d.seenBy(ctx, w, o, true)
		if err != nil {
			return false, err
		}
		if !f.absent && slices.Contains(speaker.Of(*f.marks), mark) {
			return true, nil
		}
	}
	return false, nil
}

// strategyOf returns the strategy by which w is marked.
func (d *Dispatcher) strategyOf(w *workload.Workload) strategy.Strategy {
	return d.planOf(w).Strategy(d.Strategy)
}
