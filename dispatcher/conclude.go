package dispatcher

import (
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/plan"
	"github.com/reroll-dev/reroll/reloader"
)

// lookAfterRoll is how long after a roll its configs are looked at once more. Content that leaves and comes back may have left any time since the last look
// that found it: what the pods of the roll started with should lie before that.
const lookAfterRoll = 30 * time.Second

// conclude takes note of a roll that was made.
func (b *board) conclude(s *sitting) {
	t := s.t
	r := b.scribe.rolled(s)
	if s.patched != nil && (s.patched.UID != t.w.UID || older(t.w, s.patched)) {
		t.w = s.patched
	}
	if s.patched != nil && s.plan.Chosen.Pause.Period > 0 {
		b.owe(s.patched, b.Dialects.Compile(s.patched).Chosen.Pause)
	}
	if text := t.target().Annotations[applied.Key]; s.patched != nil && text != "" {
		t.text, t.damaged = text, "" // it is what t.state says
	}
	t.state = s.out.State
	b.states.change(t.w.Ref())
	for c, v := range s.verdicts {
		if e := t.edges.Get(c); e != nil {
			if e.how, e.at = v.Reason, time.Now(); v.Do == plan.Roll {
				e.how = s.outcome
			}
			e.serve(s.configs[c], s.began)
		}
	}
	b.Logger.Info("reload", "workload", r.Workload.String(), "outcome", r.Outcome, "reload", r.ID, "changes", changesOf(r.Causes),
		"strategy", r.Strategy, "requested", r.Requested)
	if r.Outcome == reloader.ReasonReloaded {
		b.metrics.Patched(r)
		b.metrics.Rolled(r.Workload.Namespace, true)
		b.rollouts.follow(t, s.w, r)
	} else {
		b.records.finish(s.w, r)
	}
	for _, c := range s.out.Rolled {
		b.configQ.AddAfter(c, lookAfterRoll)
	}
	b.letOff(t)
}

// changesOf returns the IDs of the changes behind causes, as the REST API and the lines of the log about these changes have them.
func changesOf(causes []reloader.Cause) (ids []string) {
	for _, c := range causes {
		ids = append(ids, c.ChangeID)
	}
	return ids
}

// noteAll takes verdicts that are notes, or that nothing must be done, and closes what they are about. That a workload was not rolled for changes is
// recorded, by the reason of the notes.
func (b *board) noteAll(s *sitting) {
	t, noted, writes := s.t, map[reloader.Reason][]reloader.Cause{}, map[reloader.Config]*applied.Write{}
	for c, v := range s.verdicts {
		e := t.edges.Get(c)
		if e == nil || v.Do == plan.Roll || e.opened != s.configs[c] {
			continue
		}
		if b.explains(t, c, v) && slices.Contains(reloader.Outcomes, v.Reason) {
			noted[v.Reason] = append(noted[v.Reason], b.scribe.causes(t, c)...)
		}
		if v.Rule == plan.NotWanted {
			e.unwanted, e.at = t.live(c, b.configs.of(c).now).Sum, time.Now()
		}
		if v.Do == plan.Note {
			writes[c], e.how, e.at = &v.Write, v.Reason, time.Now()
		}
		if v.Do == plan.Note || v.Rule == plan.NotWanted {
			b.recordQ.AddAfter(t.w.Ref(), recordDelay)
		}
		e.close()
	}
	b.states.note(t, writes, s.began)
	for reason, causes := range noted {
		b.records.finish(s.w, b.scribe.reload(t, s.w, reason, s.began, causes))
	}
	if s.requested != "" { // of a dormant workload
		t.state.Requested, s.outcome = reloader.ValueID(s.requested), reloader.ReasonDormant
		b.states.change(t.w.Ref())
		b.records.finish(s.w, b.scribe.rolled(s))
	}
}

// explains reports whether v, a note about t, says why changes of c did not roll it.
func (b *board) explains(t *tracked, c reloader.Config, v plan.Verdict) bool {
	e, known := t.edges.Get(c), b.configs.of(c)
	switch {
	case e.behind && v.Reason != "":
		return len(e.changes) > 0
	case v.Rule == plan.NotWanted && v.Do == plan.Nothing:
		now := t.live(c, known.now).Write
		return !now.Absent() && e.unwanted != "" && now.Sum != e.unwanted
	}
	return v.Reason == reloader.ReasonKeysUnused && known.last(b.Cluster, c).ResourceVersion == v.Write.Version
}

// rolledElsewhere records a roll that this process did not make: another one did, which may have ended before it could say so, or the admission webhook.
func (b *board) rolledElsewhere(t *tracked, before applied.State) {
	causes := []reloader.Cause{}
	for c, w := range t.state.Writes.All() {
		if before.Writes.Get(c) == w {
			continue
		}
		known := b.scribe.causes(t, c)
		if len(known) == 0 || known[len(known)-1].NewSum == "" && !w.Absent() {
			known = []reloader.Cause{{Config: c, OldSum: before.Writes.Get(c).Sum, NewSum: w.Sum, VerifiedAt: t.state.At, Source: reloader.SourceSweep}}
		}
		causes = append(causes, known...)
		if e := t.edges.Get(c); e != nil {
			e.how, e.at = reloader.ReasonReloaded, t.state.At
		}
	}
	if len(causes) == 0 && t.state.Requested == before.Requested {
		return // the webhook counts the first new template of a user as a roll
	}
	r := b.scribe.reload(t, t.w, reloader.ReasonReloaded, t.state.At, causes)
	r.ID, r.Message = b.scribe.rollID(t, t.state), "written by another process of Reroll"
	b.rollouts.follow(t, t.w, r)
}

// maxAttempts is the failed attempt, about two minutes after the first, that makes a workload one
// that will not roll by itself. An API server that restarts is back before that.
const maxAttempts = 12

// holdBack takes note that a workload cannot be rolled now, and says when to try again.
func (d *roller) holdBack(s *sitting, err error) time.Duration {
	reason := reloader.ReasonRetrying
	switch fate := fateOf(err); {
	case fate == fateGone:
		if ref := s.w.Ref(); d.tracker.trackedBy(ref) == s.t { // and not another of its name that was seen by then
			d.tracker.Forget(ref)
		}
		return 0
	case fate == fateNever || apierrors.IsInvalid(err) || errors.As(err, &unmarkable{}):
		reason = reloader.ReasonRefused
	}
	d.lock().holdBack(s, reason, err.Error())
	d.unlock()
	return again
}

// holdBack has a workload wait after a failure. The first refusal is recorded as a reload that did not happen.
func (b *board) holdBack(s *sitting, reason reloader.Reason, message string) {
	t, rolling := s.t, s.due && len(s.out.Rolled) > 0
	hold := reloader.Hold{Reason: reason, Message: message, Attempts: 1, Since: time.Now()}
	if was := t.hold; was != nil && was.Attempts > 0 {
		hold.Attempts, hold.Since = was.Attempts+1, was.Since
	}
	if reason == reloader.ReasonRetrying && hold.Attempts >= maxAttempts {
		hold.Reason = reloader.ReasonFailing
	}
	if s.conflict != nil {
		hold.Due = time.Now().Add(min(longestRest, firstRest<<min(hold.Attempts, 20)))
	}
	if rolling && b.instead() == reloader.ReasonReloaded {
		b.metrics.Rolled(s.w.Namespace, false)
	}
	first := t.hold == nil || t.hold.Reason != hold.Reason
	if t.hold = &hold; first {
		b.metrics.Held(hold.Reason)
	}
	s.outcome, s.why = hold.Reason, message
	r := b.scribe.rolled(s)
	if first && hold.Reason != reloader.ReasonRetrying && rolling {
		b.records.finish(s.w, r)
	}
	b.Logger.Warn("workload cannot be rolled yet", "workload", r.Workload.String(), "reason", hold.Reason, "attempt", hold.Attempts, "error", message,
		"reload", r.ID, "changes", changesOf(r.Causes))
	b.recordQ.Add(s.w.Ref())
}

// letOff has t wait for nothing.
func (b *board) letOff(t *tracked) {
	retried := reloader.ValueID(t.w.Annotations[RetryAnnotation])
	if t.rollout.Ended() && t.state.Retried != retried {
		t.state.Retried = retried
		b.states.change(t.w.Ref())
	}
	t.hold, t.asking = nil, nil
}
