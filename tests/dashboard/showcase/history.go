package showcase

import (
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// Change makes one change, and what came of it for every app that depends on the config; doubtful ones have two candidates.
func (f *Fleet) Change(at time.Time, doubtful bool) reloader.Change {
	f.seq++
	a := apps[f.rng.IntN(len(apps))]
	c := reloader.Change{
		Cluster: a.cluster, Config: config(a.namespace, a.configs[f.rng.IntN(len(a.configs))]), Type: reloader.ChangeUpdated, UID: "u",
		ResourceVersion: sum(f.seq)[:8],
		Old:             reloader.Digest{KeyID: "k1", Sum: sum(f.seq)}, New: reloader.Digest{KeyID: "k1", Sum: sum(f.seq + 1)},
		Source: reloader.SourceAudit, RequestedAt: at, ReceivedAt: at.Add(28 * time.Millisecond), VerifiedAt: at.Add(61 * time.Millisecond),
	}
	f.describe(&c, doubtful)
	c.ID = reloader.ChangeID(c)
	f.Records.AddChange(f.seq, c)
	for _, dependent := range apps {
		if dependent.cluster == c.Cluster && dependent.namespace == c.Config.Namespace && asksFor(dependent, c.Config) {
			f.reload(dependent, c)
		}
	}
	return c
}

// describe says which keys a change touched and who made it.
func (f *Fleet) describe(c *reloader.Change, doubtful bool) {
	ops := []reloader.KeyOp{reloader.KeyChanged, reloader.KeyChanged, reloader.KeyAdded, reloader.KeyRemoved}
	first := f.rng.IntN(len(keyNames))
	for i := range 1 + f.rng.IntN(3) {
		c.Keys = append(c.Keys, reloader.KeyChange{Key: keyNames[(first+i)%len(keyNames)], Op: ops[f.rng.IntN(len(ops))]})
	}
	if f.rng.IntN(16) == 0 {
		c.Source, c.RequestedAt, c.ReceivedAt = reloader.SourceSweep, time.Time{}, time.Time{}
		return
	}
	who := f.rng.IntN(len(people))
	c.Candidates = []reloader.Candidate{candidate(people[who], c.RequestedAt, reloader.BasisOnlyWriter)}
	if doubtful || f.rng.IntN(24) == 0 {
		other := people[(who+1)%len(people)]
		c.Candidates = []reloader.Candidate{
			candidate(people[who], c.RequestedAt, reloader.BasisAmbiguous), candidate(other, c.RequestedAt, reloader.BasisAmbiguous),
		}
	}
}

func candidate(user string, at time.Time, basis reloader.Basis) reloader.Candidate {
	agent := agents[user]
	if agent == "" {
		agent = "kubectl/v1.37.1 (linux/amd64) kubernetes/8ad3b57"
	}
	return reloader.Candidate{
		Actor: reloader.Actor{User: user, UserAgent: agent, SourceIP: "10.4.0.17", FieldManager: "kubectl-edit"},
		Verb:  reloader.VerbPatch, AuditID: "audit-" + user, Time: at, Basis: basis,
	}
}

func asksFor(a app, c reloader.Config) bool {
	for _, name := range a.configs {
		if config(a.namespace, name) == c {
			return true
		}
	}
	return false
}

// reload makes what came of a change for one app.
func (f *Fleet) reload(a app, c reloader.Change) {
	f.seq++
	decided := c.VerifiedAt.Add(time.Second + time.Duration(f.rng.IntN(400))*time.Millisecond)
	ref := reloader.WorkloadRef{Kind: a.kind, Namespace: a.namespace, Name: a.name}
	r := reloader.Reload{
		Cluster: a.cluster, Workload: ref, UID: a.cluster + a.namespace + a.name, Dialect: "stakater", Strategy: "env-vars", Attempts: 1,
		Outcome: reloader.ReasonReloaded, DecidedAt: decided, PatchedAt: decided.Add(time.Duration(30+f.rng.IntN(90)) * time.Millisecond),
		Causes: []reloader.Cause{{
			ChangeID: c.ID, Config: c.Config, Why: reloader.ReasonAuto, Clause: "reloader.stakater.com/auto", OldSum: c.Old.Sum, NewSum: c.New.Sum,
			Keys: c.Keys, Candidates: c.Candidates, Source: c.Source, RequestedAt: c.RequestedAt, ReceivedAt: c.ReceivedAt, VerifiedAt: c.VerifiedAt,
		}},
	}
	r.ID = reloader.ReloadID(r.Cluster, r.UID, r.Causes)
	f.turn(&r)
	f.Records.AddReload(f.seq, r)
}

// turn gives one in some reloads another outcome.
func (f *Fleet) turn(r *reloader.Reload) {
	written := r.PatchedAt
	r.Rollout = &reloader.Rollout{Result: reloader.ReasonRolledOut, StartedAt: written, EndedAt: written.Add(time.Duration(4+f.rng.IntN(40)) * time.Second)}
	switch n := f.rng.IntN(40); {
	case n == 0:
		r.Outcome, r.Message, r.PatchedAt, r.Rollout = reloader.ReasonRefused, "the API server refuses the patch: field is immutable", time.Time{}, nil
	case n == 1:
		r.Rollout.Result, r.Rollout.Message = reloader.ReasonStalled, "1 of 3 pods is not ready: ImagePullBackOff"
	case n < 5:
		r.Outcome, r.Message, r.PatchedAt, r.Rollout = reloader.ReasonPodsNewer, "all pods started after the change", time.Time{}, nil
	case n < 7:
		r.Outcome, r.PatchedAt, r.Rollout = reloader.ReasonAlreadyCurrent, time.Time{}, nil
	}
}
