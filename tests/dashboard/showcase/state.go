package showcase

import (
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
)

// terms are what some apps ask for, and lack, by cluster and name.
var terms = map[string]reloader.Terms{
	"prod-us/checkout":   {Missing: []reloader.Missing{{Config: config("shop", "secret/payments-api"), Keys: []string{"api-key"}}}},
	"prod-us/storefront": {Windows: []string{"CRON_TZ=UTC 0 3 1 1 * 1h"}},
	"prod-us/wishlist":   {MinInterval: 1800},
}

// workload is the record of an app: all its configs handled, or, if it is held, waiting for the newest change of the first.
func (f *Fleet) workload(a app) reloader.WorkloadRecord {
	ref := reloader.WorkloadRef{Kind: a.kind, Namespace: a.namespace, Name: a.name}
	w := reloader.WorkloadRecord{Cluster: a.cluster, Workload: ref, UID: a.cluster + a.namespace + a.name, Dialect: "stakater", Strategy: "env-vars"}
	for i, name := range a.configs {
		e := reloader.Edge{
			Config: config(a.namespace, name), Why: reloader.ReasonAuto, Clause: "reloader.stakater.com/auto",
			Handled: reloader.Handled{KeyID: "k1", Sum: sum(uint64(i)), How: reloader.ReasonReloaded, At: f.Now.Add(-time.Duration(i*37+4) * time.Minute)},
		}
		switch i {
		case 0:
			e.Uses = []reloader.Use{{How: "envFrom", Container: "app"}}
		case 1:
			e.Uses = []reloader.Use{{How: "env", Container: "app", Keys: []string{"LOG_LEVEL", "timeout"}}, {How: "volume", Container: "sidecar", Keys: []string{"banner.html"}}}
		default:
			e.Why, e.Clause = reloader.ReasonNamed, "secret.reloader.stakater.com/reload"
			e.Uses = []reloader.Use{{How: "volume", Container: "app"}}
		}
		w.Edges = append(w.Edges, e)
	}
	if a.name == "feature-store" {
		w.Problems = []string{`the annotation reloader.stakater.com/rollout-strategy has the value "quick", which is none of rollout, restart`}
	}
	w.Terms, w.Pace = terms[a.cluster+"/"+a.name], reloader.Pace{Rolls: 1, At: f.Now.Add(-9 * time.Minute)}
	w.UpdatedAt = f.Now.Add(-40 * time.Second)
	f.hold(&w, a.hold)
	return w
}

func (f *Fleet) hold(w *reloader.WorkloadRecord, hold *reloader.Hold) {
	if hold == nil {
		return
	}
	held := *hold
	held.Since = f.Now.Add(-26 * time.Minute)
	if !held.DeadLetter() {
		held.Due = f.Now.Add(3 * time.Hour)
	}
	w.Hold = &held
	page, err := f.Records.Changes(projection.Place{}, 1, func(c *reloader.Change) bool { return c.Cluster == w.Cluster && c.Config == w.Edges[0].Config })
	if err == nil && len(page.Items) == 1 {
		w.Edges[0].Pending = page.Items[0].ID
	}
}

func (f *Fleet) clusters() []reloader.ClusterStatus {
	ago := func(d time.Duration) time.Time { return f.Now.Add(-d) }
	status := func(name string, hints int64) reloader.ClusterStatus {
		return reloader.ClusterStatus{
			Cluster: name, UID: "5d0f8a52-" + name, Version: "v0.1.0", Instance: "reroll-7c9f" + name[len(name)-2:], StartedAt: ago(51 * time.Hour),
			At: ago(4 * time.Second), Ready: true, SweptAt: ago(2 * time.Minute), Workloads: 5, Pending: 2,
			Sources: []reloader.SourceStatus{
				{Source: reloader.SourceAudit, Hints: hints, LastAt: ago(9 * time.Second)}, {Source: reloader.SourceSweep, Hints: 41, LastAt: ago(2 * time.Minute)},
			},
			Feeds: []reloader.FeedStatus{{Address: "10.0.0.11:6443", State: "heard", LastAt: ago(21 * time.Second)}, {Address: "10.0.0.12:6443", State: "heard", LastAt: ago(35 * time.Second)}},
		}
	}
	eu, us, staging := status("prod-eu", 182_331), status("prod-us", 97_120), status("staging", 4_028)
	eu.Held = map[reloader.Reason]int{reloader.ReasonOutsideWindow: 1, reloader.ReasonRefused: 1, reloader.ReasonWaitingForStep: 1}
	eu.Windows = []reloader.Window{{Schedule: "0 22 * * 1-5 6h", Next: f.Now.Add(3 * time.Hour)}}
	us.OldestPendingAt, us.HintsPending = ago(99*time.Second), 212
	us.Drift, us.Feeds[1].State = 3, "silent"
	us.Forward = &reloader.Forwarding{At: ago(12 * time.Second), Positions: map[reloader.RecordKind]reloader.Position{reloader.ReloadRecords: {Behind: 40}}}
	us.Held = map[reloader.Reason]int{reloader.ReasonFlapping: 1}
	us.Pauses = []reloader.Pause{{Namespace: "platform", Selector: "app=gateway", Until: f.Now.Add(90 * time.Minute), Reason: "Certificate rotation, see #4312."}}
	staging.Freeze = reloader.Freeze{Frozen: true, Reason: "Load test.", Until: f.Now.Add(50 * time.Hour)}
	staging.Held = map[reloader.Reason]int{reloader.ReasonFrozen: 1}
	return []reloader.ClusterStatus{eu, us, staging}
}
