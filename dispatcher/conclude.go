package dispatcher

import (
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/plan"
	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/mark"
)

// conclude takes note of a roll that was made.
func (d *Dispatcher) conclude(did done) {
	if did.patched != nil {
		p := d.compile(did.patched)
		d.noteOwed(did.patched, &p)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	t := did.s.t
	before := did.s.w.Progress
	r := d.newReload(did)
	t.intends = 0
	if did.patched != nil && (did.patched.UID != t.w.UID || older(t.w, did.patched)) {
		t.w = did.patched
	}
	if text := t.target().Annotations[applied.Key]; did.patched != nil && text != "" {
		t.object, t.text = did.state, text
	}
	t.state = did.state
	d.noteDone(t, did)
	d.stateChanged(t.w.Ref())
	if r.Outcome == reloader.ReasonReloaded {
		d.overtake(t, "another reload followed")
		d.metrics.Patched(r)
		d.metrics.Rolled(r.Workload.Namespace, true)
		t.reload = r.ID
	}
	d.finish(did.s.w, r)
	d.logReload(r)
	if r.Outcome == reloader.ReasonReloaded {
		d.follow(t, before, r)
	}
	for _, c := range did.rolled {
		d.configQ.AddAfter(c, lookAfterRoll)
	}
	d.letOff(t)
	d.nextAfter(t)
	d.recordQ.AddAfter(t.w.Ref(), recordDelay)
}

// lookAfterRoll is how long after a roll its configs are looked at once more. Content that leaves and comes back may have left any time since the last look
// that found it: what the pods of the roll started with should lie before that.
const lookAfterRoll = 30 * time.Second

// noteDone closes what was rolled or noted, unless it was looked at since. The caller holds mu.
func (d *Dispatcher) noteDone(t *tracked, did done) {
	for c, opened := range did.s.configs {
		v, decided := did.verdicts[c]
		e := t.edges[c]
		if e == nil || !decided {
			continue
		}
		e.how, e.at = v.Reason, did.at
		if slices.Contains(did.rolled, c) {
			e.how = did.outcome
		}
		if e.opened == opened {
			e.close()
			continue
		}
		rest, waits := e.wait.After(did.s.began)
		if e.wait, e.behind = rest, waits; !waits {
			e.changes = nil
		}
	}
}

// newReload describes a roll.
func (d *Dispatcher) newReload(did done) reloader.Reload {
	s, t := did.s, did.s.t
	r := reloader.Reload{
		ID: reloader.RollID(d.Cluster, string(t.target().UID), did.state.N), Cluster: d.Cluster, Workload: s.w.Ref(), UID: string(s.w.UID),
		Dialect: dialectOf(t), Strategy: d.strategyName(t), Outcome: did.outcome, Attempts: t.attempts + 1, DecidedAt: s.began, Causes: []reloader.Cause{},
	}
	if t.hold != nil && !slices.Contains(lagReasons, t.hold.Reason) {
		r.HeldBy = t.hold.Reason
	}
	for _, c := range did.rolled {
		r.Causes = append(r.Causes, d.causesOf(t, c, t.edges[c])...)
	}
	if len(did.rolled) == 0 {
		r.Requested = strings.ToValidUTF8(s.requested[:min(len(s.requested), maxRequested)], "")
	}
	if r.Outcome != reloader.ReasonReloaded {
		r.ID, r.Message = reloader.ReloadID(d.Cluster, string(s.w.UID), r.Causes)+"-"+string(r.Outcome), reloader.Reasons[r.Outcome]
	}
	if did.patched != nil {
		r.PatchedAt, r.Generation = did.at, did.patched.Generation
	}
	return r
}

// maxRequested bounds the value of RequestedAnnotation in records.
const maxRequested = 256

func dialectOf(t *tracked) string {
	if len(t.plan.Enabled) == 0 {
		return ""
	}
	return t.plan.Enabled[0].Name
}

// causesOf returns why t is rolled for c: a cause for each change that it was behind by.
func (d *Dispatcher) causesOf(t *tracked, c reloader.Config, e *edge) []reloader.Cause {
	known := d.configs[c]
	if known == nil {
		return nil
	}
	decision := t.plan.Decide(d.metaOf(c, known.now))
	changes := []reloader.Change{known.last.Change}
	if e != nil && len(e.changes) > 0 {
		changes = e.changes
	}
	container, _ := mark.Carrier(t.w, c)
	var causes []reloader.Cause
	for _, change := range changes {
		cause := reloader.Cause{
			ChangeID: change.ID, Config: c, Why: decision.Why, Clause: decision.Clause, OldSum: change.Old.Sum, NewSum: sumAfter(change), Keys: change.Keys,
			Candidates: change.Candidates, Source: change.Source, RequestedAt: change.RequestedAt, ReceivedAt: change.ReceivedAt,
			VerifiedAt: change.VerifiedAt, Container: container,
		}
		causes = append(causes, cause)
	}
	return causes
}

// sumAfter returns the content that c leaves: none if it deleted the config, whose change keeps the last content there was.
func sumAfter(c reloader.Change) string {
	if c.Type == reloader.ChangeDeleted {
		return ""
	}
	return c.New.Sum
}

// reported is a note that is reported as the end of a change.
type reported struct {
	config  reloader.Config
	verdict plan.Verdict
	changes []reloader.Change
}

// reportNoted records that a workload was not rolled for changes, by the reason of the notes. The caller holds mu.
func (d *Dispatcher) reportNoted(s *sitting, noted []reported) {
	byReason := map[reloader.Reason][]reloader.Cause{}
	for _, n := range noted {
		if n.verdict.Reason == reloader.ReasonBaseline || len(n.changes) == 0 {
			continue
		}
		causes := d.causesOf(s.t, n.config, &edge{changes: n.changes})
		byReason[n.verdict.Reason] = append(byReason[n.verdict.Reason], causes...)
	}
	for reason, causes := range byReason {
		d.finish(s.w, reloader.Reload{
			ID: reloader.ReloadID(d.Cluster, string(s.w.UID), causes) + "-" + string(reason), Cluster: d.Cluster, Workload: s.w.Ref(), UID: string(s.w.UID),
			Dialect: dialectOf(s.t), Strategy: d.strategyName(s.t), Outcome: reason, Message: reloader.Reasons[reason], DecidedAt: s.began, Causes: causes,
		})
	}
}

// concludeRequest records that a requested roll came to nothing.
func (d *Dispatcher) concludeRequest(s *sitting, why reloader.Reason) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.t.state.Requested = reloader.ValueID(s.requested)
	d.stateChanged(s.w.Ref())
	did := done{s: s, state: s.t.state, outcome: why, at: time.Now()}
	r := d.newReload(did)
	d.finish(s.w, r)
	d.logReload(r)
}

// rolledElsewhere records a roll that this process did not make: another one did, which may have ended before it could say so, or the admission webhook. The
// caller holds mu.
func (d *Dispatcher) rolledElsewhere(t *tracked, before applied.State) {
	r := reloader.Reload{
		ID: reloader.RollID(d.Cluster, string(t.target().UID), t.state.N), Cluster: d.Cluster, Workload: t.w.Ref(), UID: string(t.w.UID), Dialect: dialectOf(t),
		Strategy: d.strategyName(t), Outcome: reloader.ReasonReloaded, DecidedAt: t.state.At, Causes: []reloader.Cause{},
		Message: "written by another process of Reroll",
	}
	for c, w := range t.state.Writes {
		if before.Writes[c] == w {
			continue
		}
		if e := t.edges[c]; e != nil {
			e.how, e.at = reloader.ReasonReloaded, t.state.At
		}
		causes := d.causesOf(t, c, t.edges[c])
		if len(causes) == 0 || causes[len(causes)-1].NewSum == "" && !w.Absent() {
			causes = []reloader.Cause{{Config: c, OldSum: before.Writes[c].Sum, NewSum: w.Sum, VerifiedAt: t.state.At, Source: reloader.SourceSweep}}
		}
		r.Causes = append(r.Causes, causes...)
	}
	if len(r.Causes) == 0 && t.state.Requested == before.Requested {
		return // the webhook counts the first new template of a user as a roll
	}
	t.reload = r.ID
	d.finish(t.w, r)
	d.follow(t, t.w.Progress, r)
}

// holdBack takes note that a workload cannot be rolled now, and says when to try again. The first refusal is recorded as a reload
// that did not happen.
func (d *Dispatcher) holdBack(s *sitting, rolling []reloader.Config, err error) time.Duration {
	reason := reloader.ReasonRetrying
	switch fate := fateOf(err); {
	case errors.As(err, &unmarkable{}):
		reason = reloader.ReasonInvalid
	case fate == fateGone:
		d.forgetGone(s.t, s.w.Ref())
		return 0
	case fate == fateNever || apierrors.IsInvalid(err):
		reason = reloader.ReasonRefused
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	t := s.t
	t.attempts++
	if len(rolling) > 0 && d.instead() == reloader.ReasonReloaded {
		d.metrics.Rolled(s.w.Namespace, false)
	}
	if reason == reloader.ReasonRetrying && t.attempts >= maxAttempts {
		reason = reloader.ReasonFailing
	}
	if t.failed.IsZero() {
		t.failed = time.Now()
	}
	hold := reloader.Hold{Reason: reason, Message: err.Error(), Attempts: t.attempts, Since: t.failed}
	first := t.hold == nil || t.hold.Reason != reason
	if t.hold = &hold; first {
		d.metrics.Held(reason)
	}
	if first && reason != reloader.ReasonRetrying && len(rolling) > 0 {
		r := d.newReload(done{s: s, rolled: rolling, state: t.state, outcome: reason})
		r.Message = err.Error()
		d.finish(s.w, r)
	}
	d.logFailed(s, rolling, hold)
	d.recordQ.Add(s.w.Ref())
	return again
}

// maxAttempts is from which failed attempt on, with the pauses between them some two minutes after the first, a workload is taken for one
// that will not roll by itself. An API server that restarts is back before that.
const maxAttempts = 12

// relax ends the waiting of a workload that waits for nothing any more. The caller holds mu.
func (d *Dispatcher) relax(t *tracked) {
	if t.hold != nil {
		d.recordQ.Add(t.w.Ref())
	}
	d.letOff(t)
}

// letOff has t wait for nothing. The caller holds mu.
func (d *Dispatcher) letOff(t *tracked) {
	retried := reloader.ValueID(t.w.Annotations[RetryAnnotation])
	if t.rollout.ended() && t.state.Retried != retried {
		t.state.Retried = retried
		d.stateChanged(t.w.Ref())
	}
	t.hold, t.attempts, t.failed, t.slot = nil, 0, time.Time{}, turn.Slot{}
}
