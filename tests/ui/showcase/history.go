package showcase

import (
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// Change makes one change, and what came of it for every app that depends on the config.
func (f *Fleet) Change(at time.Time) reloader.Change {
	a := apps[f.rng.IntN(len(apps))]
	c := f.change(a.cluster, config(a.namespace, a.configs[f.rng.IntN(len(a.configs))]), at)
	c.Keys = f.keys(c.Config)
	who := f.rng.IntN(len(people))
	switch n := f.rng.IntN(24); {
	case n == 0:
		by(&c)
	case issued(c.Config):
		by(&c, certManager)
	case n == 1:
		by(&c, people[who], people[(who+1)%len(people)])
	default:
		by(&c, people[who])
	}
	f.Records.AddChange(f.seq, c)
	for _, a := range dependents(c) {
		r := f.reload(a, c)
		f.turn(&r)
		f.add(r)
	}
	return c
}

// change is a new change without candidates and keys yet.
func (f *Fleet) change(cluster string, of reloader.Config, at time.Time) reloader.Change {
	f.seq++
	c := reloader.Change{
		Cluster: cluster, Config: of, Type: reloader.ChangeUpdated, UID: "u", ResourceVersion: sum(f.seq)[:8],
		Old:    reloader.Digest{KeyID: "k1", Sum: sum(f.seq)},
		New:    reloader.Digest{KeyID: "k1", Sum: sum(f.seq + 1)},
		Source: reloader.SourceAudit, RequestedAt: at, ReceivedAt: at.Add(28 * time.Millisecond), VerifiedAt: at.Add(61 * time.Millisecond),
	}
	c.ID = reloader.ChangeID(c)
	return c
}

// keys are some of a config's, with what happened to each; of a Secret they only change.
func (f *Fleet) keys(c reloader.Config) (keys []reloader.KeyChange) {
	names := keyNames[c.Name]
	count := 1 + f.rng.IntN(len(names))
	if issued(c) {
		count = len(names)
	}
	ops := []string{reloader.KeyChanged, reloader.KeyChanged, reloader.KeyAdded, reloader.KeyRemoved}
	first := f.rng.IntN(len(names))
	for i := range count {
		key := reloader.KeyChange{Key: names[(first+i)%len(names)], Op: reloader.KeyChanged}
		if c.Kind == reloader.ConfigMap && len(names) > 1 {
			key.Op = ops[f.rng.IntN(len(ops))]
		}
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b reloader.KeyChange) int { return strings.Compare(a.Key, b.Key) })
	return keys
}

// by sets who made a change. Without users, a sweep found the change. One user is certain; several are not.
func by(c *reloader.Change, users ...string) {
	if len(users) == 0 {
		c.Source, c.RequestedAt, c.ReceivedAt = reloader.SourceSweep, time.Time{}, time.Time{}
	}
	for _, user := range users {
		c.Candidates = append(c.Candidates, candidate(user, c.RequestedAt, len(users) == 1))
	}
}

// dependents are the apps that depend on what was changed.
func dependents(c reloader.Change) (found []app) {
	for _, a := range apps {
		if a.cluster == c.Cluster && slices.ContainsFunc(a.configs, func(name string) bool { return config(a.namespace, name) == c.Config }) {
			found = append(found, a)
		}
	}
	return found
}

func candidate(user string, at time.Time, sure bool) reloader.Candidate {
	agent, manager := "kubectl/v1.37.1 (linux/amd64) kubernetes/8ad3b57", "kubectl-edit"
	if program, ok := agents[user]; ok {
		agent = program
		manager, _, _ = strings.Cut(program, "/")
	}
	return reloader.Candidate{
		Actor: reloader.Actor{User: user, UserAgent: agent, SourceIP: "10.4.0.17", FieldManager: manager},
		Verb:  reloader.VerbPatch, AuditID: "audit-" + user, Time: at, Sure: sure,
	}
}

// reload is how a change rolled one app.
func (f *Fleet) reload(a app, c reloader.Change) reloader.Reload {
	decided := c.VerifiedAt.Add(time.Second + time.Duration(f.rng.IntN(400))*time.Millisecond)
	ref := reloader.WorkloadRef{Kind: a.kind, Namespace: a.namespace, Name: a.name}
	r := reloader.Reload{
		Cluster:   a.cluster,
		Workload:  ref,
		Dialect:   "stakater",
		Strategy:  "env-vars",
		DecidedAt: decided, PatchedAt: decided.Add(time.Duration(30+f.rng.IntN(90)) * time.Millisecond),
		Outcome: reloader.ReasonReloaded,
		Causes: []reloader.Cause{{
			ChangeID: c.ID, Config: c.Config, Why: reloader.ReasonAuto, Clause: "reloader.stakater.com/auto", OldSum: c.Old.Sum, NewSum: c.New.Sum,
			Keys: c.Keys, Candidates: c.Candidates, Source: c.Source, RequestedAt: c.RequestedAt, ReceivedAt: c.ReceivedAt, VerifiedAt: c.VerifiedAt,
		}},
	}
	r.ID = reloader.ReloadID(r.Cluster, a.cluster+a.namespace+a.name, r.Causes)
	r.LatencySeconds = r.Took(false)
	r.Rollout = &reloader.Rollout{
		Result: reloader.ReasonRolledOut, StartedAt: r.PatchedAt, EndedAt: r.PatchedAt.Add(time.Duration(4+f.rng.IntN(40)) * time.Second),
	}
	return r
}

func (f *Fleet) add(r reloader.Reload) {
	f.seq++
	f.Records.AddReload(f.seq, r)
}

// turn gives one in some reloads another outcome.
func (f *Fleet) turn(r *reloader.Reload) {
	switch n := f.rng.IntN(40); {
	case n == 0:
		refuse(r, "the API server refuses the patch: field is immutable")
	case n == 1:
		r.Rollout.Result, r.Rollout.Message = reloader.ReasonStalled, "1 of 3 pods is not ready: ImagePullBackOff"
	case n < 5:
		r.Outcome, r.Message, r.PatchedAt, r.LatencySeconds, r.Rollout = reloader.ReasonPodsNewer, "all pods started after the change", time.Time{}, 0, nil
	case n < 7:
		r.Outcome, r.PatchedAt, r.LatencySeconds, r.Rollout = reloader.ReasonAlreadyCurrent, time.Time{}, 0, nil
	}
}

func refuse(r *reloader.Reload, message string) {
	r.Outcome, r.Message, r.PatchedAt, r.LatencySeconds, r.Rollout = reloader.ReasonRefused, message, time.Time{}, 0, nil
}

// scene is one change that is not left to chance.
type scene struct {
	ago             time.Duration
	cluster         string
	namespace, name string
	by              []string
	keys            []reloader.KeyChange
	// rolling is the app that still rolls out.
	rolling string
}

// story is what happened last, the newest first: what held apps wait for is in it.
var story = []scene{
	{
		ago: 2 * time.Minute, cluster: "prod-eu", namespace: "shop", name: "cm/feature-flags", by: []string{"alice@example.com"},
		keys: []reloader.KeyChange{changed("checkout.v2"), {Key: "gift-cards", Op: reloader.KeyAdded}},
	},
	{
		ago: 3 * time.Minute, cluster: "prod-eu", namespace: "payments", name: "secret/acquirer-certificates", by: []string{certManager},
		keys: []reloader.KeyChange{changed("tls.crt"), changed("tls.key")}, rolling: "ledger",
	},
	{
		ago: 8 * time.Minute, cluster: "prod-us", namespace: "shop", name: "cm/feature-flags", by: []string{flux},
		keys: []reloader.KeyChange{{Key: "gift-cards", Op: reloader.KeyAdded}},
	},
	{ago: 13 * time.Minute, cluster: "staging", namespace: "platform", name: "cm/routes", by: []string{flux}, keys: []reloader.KeyChange{changed("routes.yaml")}},
	{ago: 17 * time.Minute, cluster: "prod-eu", namespace: "shop", name: "secret/payments-api", by: []string{"bob@example.com"}, keys: []reloader.KeyChange{changed("api-key")}},
	{ago: 21 * time.Minute, cluster: "prod-us", namespace: "platform", name: "cm/routes", keys: []reloader.KeyChange{changed("timeouts.yaml")}},
	{
		ago: 29 * time.Minute, cluster: "prod-eu", namespace: "shop", name: "cm/mail-templates", by: []string{"chidi@example.com", "dana@example.com"},
		keys: []reloader.KeyChange{changed("receipt.html")},
	},
}

func changed(key string) reloader.KeyChange {
	return reloader.KeyChange{Key: key, Op: reloader.KeyChanged}
}

// tell makes the change of a scene: apps that are held for the config wait, a dead letter after it was refused, and all others roll.
func (f *Fleet) tell(s scene) {
	c := f.change(s.cluster, config(s.namespace, s.name), f.Now.Add(-s.ago))
	c.Keys = s.keys
	by(&c, s.by...)
	f.Records.AddChange(f.seq, c)
	for _, a := range dependents(c) {
		r := f.reload(a, c)
		held := a.hold != nil && a.configs[0] == s.name
		switch {
		case held && !a.hold.DeadLetter():
			continue
		case held:
			refuse(&r, a.hold.Message)
			if r.Outcome = a.hold.Reason; a.hot() {
				r.Strategy, r.Pods = "http", &reloader.Asked{Asked: 3, Answered: 2, Failed: 1, Names: []string{"wishlist-2"}}
			}
		case a.name == s.rolling:
			r.Rollout.Result, r.Rollout.EndedAt = reloader.ReasonRolling, time.Time{}
		}
		f.add(r)
	}
}
