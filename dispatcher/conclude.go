package dispatcher

import (
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// conclude takes note of what became of every step. patched is the workload after the patch, or nil if none was sent.
func (d *Dispatcher) conclude(t *tracked, w, patched *workload.Workload, steps []step, id string, decidedAt time.Time) time.Duration {
	now := time.Now()
	if patched != nil {
		d.notePause(patched)
	}
	for i := range steps {
		if steps[i].outcome == reloader.ReasonReloaded {
			steps[i].outcome = d.instead()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	done := len(withOutcome(steps, reloader.ReasonReloaded)) > 0
	if done {
		d.keepUnsaid(t, w)
	}
	if patched != nil {
		t.w = newer(patched, t.w)
	}
	if done {
		d.remind(t, patched, id)
	}
	for _, s := range steps {
		if d.instead() != reloader.ReasonReloaded {
			s.mark = ""
		}
		d.done(t, newestOf(patched, w), s, decidedAt, now)
	}
	followed := t
	if len(withOutcome(steps, reloader.ReasonReloaded)) > 0 {
		followed = d.supersede(t)
	}
	for _, group := range inRecordOrder(byOutcome(steps), patched != nil) {
		d.report(followed, w, patched, d.newReload(t, w, group, id, decidedAt), now)
	}
	d.letOff(t)
	t.retried = reloader.ValueID(t.w.Annotations[RetryAnnotation])
	if done || patched != nil || len(withOutcome(steps, reloader.ReasonNotified)) > 0 {
		t.pace = paced(t.pace, now)
	}
	d.nextAfter(t)
	d.settleQ.AddAfter(w.Ref(), recordDelay)
	return d.rest(t)
}

// report has r recorded, counted, logged and, if it rolled w, followed. patched is as for conclude. The caller holds mu.
func (d *Dispatcher) report(t *tracked, w, patched *workload.Workload, r reloader.Reload, now time.Time) {
	if r.Outcome == reloader.ReasonReloaded && patched != nil {
		r.PatchedAt, r.Generation = now, patched.Generation
		d.metrics.observe(r)
		d.stakater.rolled(r.Workload, true)
	}
	d.finish(w, r)
	d.logReload(r)
	if r.Outcome == reloader.ReasonReloaded {
		d.follow(t, w.Progress, r)
	}
}

// maxRecent bounds the reloads that a workload remembers by name.
const maxRecent = 32

// remind has t remember a reload that marked it. The caller holds mu.
func (d *Dispatcher) remind(t *tracked, patched *workload.Workload, id string) {
	t.lastReload = id
	t.recent = append(slices.DeleteFunc(t.recent, func(o string) bool { return o == id }), id)
	t.recent = t.recent[max(0, len(t.recent)-maxRecent):]
	now := t.w
	if patched != nil {
		now = patched
	}
	t.markedAt = d.strategyOf(now).Target(now).MarkedAt
}

// finish has r recorded by the next settle. The caller holds mu.
func (d *Dispatcher) finish(w *workload.Workload, r reloader.Reload) {
	d.finished[w.Ref()] = append(d.finished[w.Ref()], finished{w: w, reload: r})
	d.metrics.reloads.WithLabelValues(string(r.Outcome)).Inc()
}

// newestOf returns patched, or w if nothing was patched.
func newestOf(patched, w *workload.Workload) *workload.Workload {
	if patched != nil {
		return patched
	}
	return w
}

// done ends one step: the workload, which is w now, is at its content. Changes that arrived meanwhile stay pending. The caller holds mu.
func (d *Dispatcher) done(t *tracked, w *workload.Workload, s step, decidedAt, now time.Time) {
	if s.outcome == reloader.ReasonDryRun && w.Roll() != workload.NewJob {
		// What would have been done is not done: who ends the dry run finds the workload as it was before. Not so a CronJob, of which
		// nobody could tell whether somebody else has started its Job.
		t.dried[s.config] = s.latest.New.Sum
		delete(t.pending, s.config)
		return
	}
	if _, edge := t.edges[s.config]; edge {
		h := t.handled[s.config]
		if s.passesOver() {
			// It may come back as it was, and what it has been meanwhile is looked at then.
			t.away[s.config] = t.away[s.config] || slices.ContainsFunc(s.changes, func(c reloader.Change) bool { return differs(h, c) })
			delete(t.pending, s.config)
			return
		}
		if s.outcome != reloader.ReasonReverted || s.mark != "" || h.How == "" {
			h = reloader.Handled{KeyID: s.latest.New.KeyID, Sum: s.sum(), How: s.outcome, Mark: s.mark, Brought: d.broughtOf(w, s.config)}
		}
		if h.At = now; s.outcome == reloader.ReasonReverted {
			h.At = decidedAt // what came and went since then was not looked at
		}
		t.handled[s.config], t.away[s.config] = h, false
	}
	p := t.pending[s.config]
	if p == nil {
		return
	}
	last := p.changes[len(p.changes)-1]
	if newest := d.latest[s.config].Change; last.ID == s.latest.ID || newest.New.Sum == s.latest.New.Sum {
		delete(t.pending, s.config)
		return
	}
	p.force = false
	p.changes, p.since = []reloader.Change{last}, p.heard
}

// rest returns how long to wait for what is still pending of t, or 0. The caller holds mu.
func (d *Dispatcher) rest(t *tracked) time.Duration {
	if len(t.pending) == 0 {
		return 0
	}
	if oldest := earlier(t.oldestPending(), time.Now()); t.first.IsZero() || oldest.Before(t.first) {
		t.first = oldest
	}
	return max(time.Millisecond, time.Until(t.due))
}

// holdBack takes note that a workload cannot be rolled now, and says when to try again. The first refusal is recorded as a reload
// that did not happen.
func (d *Dispatcher) holdBack(t *tracked, decidedAt time.Time, w *workload.Workload, steps []step, err error) time.Duration {
	reason := reloader.ReasonRetrying
	switch fate := fateOf(err); {
	case errors.As(err, &unmarkable{}):
		reason = reloader.ReasonInvalid
	case fate == fateGone:
		d.lose(t)
		return 0
	case fate == fateNever || apierrors.IsInvalid(err):
		reason = reloader.ReasonRefused
	}
	if d.instead() == reloader.ReasonReloaded {
		d.stakater.rolled(w.Ref(), false)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	t.attempts++
	t.going = false
	if reason == reloader.ReasonRetrying && t.attempts >= maxAttempts {
		reason = reloader.ReasonFailing
	}
	if d.holdFailed(t, reason, err) && reason != reloader.ReasonRetrying && len(steps) > 0 {
		r := d.newReload(t, w, steps, d.reloadID(w, steps), decidedAt)
		r.ID, r.Outcome, r.Message, r.Attempts = d.reloadID(w, steps)+"-"+string(reason), reason, err.Error(), t.attempts
		d.finish(w, r)
	}
	d.nextAfter(t)
	d.logFailed(w, steps, reloader.Hold{Reason: reason, Message: err.Error(), Attempts: t.attempts})
	d.settleQ.Add(w.Ref())
	return again
}

// maxAttempts is from which failed attempt on, with the pauses between them some two minutes after the first, a workload is taken for one
// that will not roll by itself. An API server that restarts is back before that.
const maxAttempts = 12

// holdFailed has t wait after a failed attempt, and reports whether it did not already wait for that reason. The caller holds mu.
func (d *Dispatcher) holdFailed(t *tracked, reason reloader.Reason, err error) (first bool) {
	hold := &reloader.Hold{Reason: reason, Message: err.Error(), Since: time.Now(), Attempts: t.attempts}
	first = true
	for _, was := range []*reloader.Hold{t.hold, t.was} {
		if was != nil && was.Attempts > 0 {
			hold.Since = was.Since
			first = first && was.Reason != reason
		}
	}
	if t.hold = hold; first {
		d.metrics.heldBack(reason)
	}
	return first
}

// byOutcome groups steps of the same outcome, in the order of the first of each.
func byOutcome(steps []step) [][]step {
	var groups [][]step
	for _, s := range steps {
		i := slices.IndexFunc(groups, func(g []step) bool { return g[0].outcome == s.outcome })
		if i < 0 {
			groups = append(groups, []step{s})
			continue
		}
		groups[i] = append(groups[i], s)
	}
	return groups
}

// inRecordOrder returns groups with what was rolled at the end: the last reload on record tells the next process which roll is recorded already.
// What somebody else has rolled is at the beginning, so that it is held against what that one has recorded last.
func inRecordOrder(groups [][]step, ours bool) [][]step {
	rolled := func(g []step) bool { return g[0].outcome == reloader.ReasonReloaded }
	i := slices.IndexFunc(groups, rolled)
	if i < 0 {
		return groups
	}
	roll, others := groups[i:i+1], slices.DeleteFunc(slices.Clone(groups), rolled)
	if ours {
		return slices.Concat(others, roll)
	}
	return slices.Concat(roll, others)
}

// newReload describes steps of one outcome. An empty id is derived from the steps.
func (d *Dispatcher) newReload(t *tracked, w *workload.Workload, steps []step, id string, decidedAt time.Time) reloader.Reload {
	r := reloader.Reload{
		ID: id, Cluster: d.Cluster, Workload: w.Ref(), UID: string(w.UID), Dialect: t.interest.Dialect(),
		Strategy: d.strategyName(t), Outcome: steps[0].outcome, Attempts: t.attempts + 1, DecidedAt: decidedAt,
	}
	if t.hold != nil && !slices.Contains(lagReasons, t.hold.Reason) {
		r.HeldBy = t.hold.Reason
	}
	if r.Outcome != reloader.ReasonReloaded {
		r.ID, r.Message = d.reloadID(w, steps)+"-"+string(r.Outcome), reloader.Reasons[r.Outcome]
	}
	for _, s := range steps {
		for _, c := range s.changes {
			r.Causes = append(r.Causes, causeOf(w, c, s))
		}
	}
	return r
}

func causeOf(w *workload.Workload, c reloader.Change, s step) reloader.Cause {
	return reloader.Cause{
		Container: strategy.ContainerName(w, c.Config),
		ChangeID:  c.ID, Config: c.Config, Why: s.why.Why, Clause: s.why.Clause, OldSum: c.Old.Sum, NewSum: sumAfter(c),
		Keys: c.Keys, Candidates: c.Candidates, Source: c.Source,
		RequestedAt: c.RequestedAt, ReceivedAt: c.ReceivedAt, VerifiedAt: c.VerifiedAt,
	}
}

// sumAfter returns the content that c leaves: none if it deleted the config, whose change keeps the last content there was.
func sumAfter(c reloader.Change) string {
	if c.Type == reloader.ChangeDeleted {
		return ""
	}
	return c.New.Sum
}

// newer returns the later of the answer to a patch and what is known by the watch, which may be ahead of it also within one generation:
// then the workload's controller has seen what the answer cannot tell yet.
func newer(answer, known *workload.Workload) *workload.Workload {
	if answer.Older(known) || answer.UID == known.UID && answer.Generation == known.Generation && known.Progress.Observed && !answer.Progress.Observed {
		return known
	}
	return answer
}
