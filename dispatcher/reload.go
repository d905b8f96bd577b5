package dispatcher

import (
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// maxRequested bounds the value of RequestedAnnotation in records.
const maxRequested = 256

// reload describes what became of t, as w had it, for causes.
func (x *scribe) reload(t *tracked, w *workload.Workload, outcome reloader.Reason, decided time.Time, causes []reloader.Cause) reloader.Reload {
	r := reloader.Reload{
		Cluster:   x.Cluster,
		Workload:  w.Ref(),
		Dialect:   t.plan.Dialect(),
		Strategy:  t.strategyName(outcome),
		Outcome:   outcome,
		DecidedAt: decided,
		Causes:    causes,
	}
	if outcome != reloader.ReasonReloaded {
		r.ID, r.Message = reloader.ReloadID(x.Cluster, string(w.UID), causes)+"-"+string(outcome), outcome.Says()
	}
	return r
}

// rolled describes what became of the roll of s.
func (x *scribe) rolled(s *sitting) reloader.Reload {
	t, causes := s.t, []reloader.Cause{}
	for _, c := range s.out.Rolled {
		causes = append(causes, x.causes(t, c)...)
	}
	r := x.reload(t, s.w, s.outcome, s.began, causes)
	if r.Outcome == reloader.ReasonReloaded {
		r.ID = x.rollID(t, s.out.State)
	}
	if r.Pods = t.asking.asked(); s.why != "" {
		r.Message = s.why
	}
	if slices.Contains(reloader.HotReasons, r.Outcome) {
		r.DecidedAt = t.asking.began
	}
	if len(s.out.Rolled) == 0 {
		r.Requested = strings.ToValidUTF8(s.requested[:min(len(s.requested), maxRequested)], "")
	}
	if s.patched != nil {
		r.PatchedAt = time.Now()
		r.LatencySeconds = r.Took(t.hold != nil && !slices.Contains(reloader.LagReasons, t.hold.Reason))
	}
	return r
}

func (x *scribe) rollID(t *tracked, s applied.State) string {
	return reloader.RollID(x.Cluster, string(t.target().UID), s.N)
}

// causes returns why t is rolled for c: a cause for each change that it is behind by, or for the last change of c.
func (x *scribe) causes(t *tracked, c reloader.Config) []reloader.Cause {
	known := x.configs[c]
	if known == nil {
		return nil
	}
	decision := t.decide(c, known.now)
	changes := []reloader.Change{known.last(x.Cluster, c)}
	if e := t.edges.Get(c); e != nil && len(e.changes) > 0 {
		changes = e.changes
	}
	container, _ := mark.Carrier(t.w, c)
	causes := make([]reloader.Cause, 0, len(changes))
	for _, change := range changes {
		cause := reloader.Cause{
			ChangeID: change.ID, Config: c, Why: decision.Why, Clause: decision.Clause, OldSum: change.Old.Sum, NewSum: change.New.Sum, Keys: change.Keys,
			Candidates: change.Candidates, Source: change.Source, RequestedAt: change.RequestedAt, ReceivedAt: change.ReceivedAt,
			VerifiedAt: change.VerifiedAt, Container: container,
		}
		if change.Type == reloader.ChangeDeleted {
			cause.NewSum = "" // the change keeps the last content there was
		}
		causes = append(causes, cause)
	}
	return causes
}
