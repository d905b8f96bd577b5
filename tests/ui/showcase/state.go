package showcase

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// workload is the record of an app: all its configs handled, or, if it is held, waiting for the newest change of the first.
func (f *Fleet) workload(a app) reloader.WorkloadRecord {
	ref := reloader.WorkloadRef{Kind: a.kind, Namespace: a.namespace, Name: a.name}
	w := reloader.WorkloadRecord{Cluster: a.cluster, Workload: ref, UID: a.cluster + a.namespace + a.name, Dialect: "stakater", Strategy: "env-vars"}
	if a.hot() {
		w.Strategy = "http"
	}
	for i, name := range a.configs {
		e := reloader.Edge{
			Config: config(a.namespace, name), Why: reloader.ReasonAuto, Clause: "reloader.stakater.com/auto",
			Applied: reloader.Digest{KeyID: "k1", Sum: sum(uint64(i))}, How: reloader.ReasonReloaded, At: f.Now.Add(-time.Duration(i*37+4) * time.Minute),
		}
		if c := f.newest(a.cluster, e.Config); c != nil && (i > 0 || a.hold == nil) {
			e.At = c.VerifiedAt.Add(2 * time.Second)
		}
		keys := keyNames[e.Config.Name]
		switch {
		case issued(e.Config), a.hot():
			e.Uses = []reloader.Use{{How: "volume", Container: "app"}}
		case i == 0:
			e.Uses = []reloader.Use{{How: "envFrom", Container: "app"}}
		case i == 1:
			e.Uses = []reloader.Use{{How: "env", Container: "app", Keys: keys}}
		default:
			e.Why, e.Clause = reloader.ReasonNamed, strings.ToLower(string(e.Config.Kind))+".reloader.stakater.com/reload"
			e.Uses = []reloader.Use{{How: "volume", Container: "app"}, {How: "volume", Container: "sidecar", Keys: keys[:1]}}
		}
		w.Edges = append(w.Edges, e)
	}
	if a.name == "feature-store" {
		w.Problems = []string{`the annotation reloader.stakater.com/rollout-strategy has the value "quick", which is none of rollout, restart`}
	}
	if a.cluster == "prod-us" && a.name == "checkout" {
		w.Missing = []reloader.Missing{{Config: config("shop", "secret/payments-api"), Keys: []string{"api-key"}, Required: true, Awaited: true}}
	}
	w.UpdatedAt = f.Now.Add(-40 * time.Second)
	f.hold(&w, a.hold)
	return w
}

func (f *Fleet) hold(w *reloader.WorkloadRecord, hold *reloader.Hold) {
	if hold == nil {
		return
	}
	held := *hold
	w.Hold = &held
	c := f.newest(w.Cluster, w.Edges[0].Config)
	if c == nil {
		held.Since = f.Now
		return
	}
	w.Edges[0].Pending = c.ID
	held.Since = c.VerifiedAt.Add(time.Second)
	switch held.Reason {
	case reloader.ReasonOutsideWindow:
		held.Due = f.opening()
	case reloader.ReasonFrozen:
		held.Due = f.thaw()
	case reloader.ReasonFlapping:
		held.Due = f.Now.Add(22 * time.Minute)
	case reloader.ReasonWaitingForStep:
		held.Due = held.Since.Add(time.Hour)
	}
}

// newest is the newest change of a config; nil if there is none.
func (f *Fleet) newest(cluster string, of reloader.Config) *reloader.Change {
	page, err := f.Records.Changes("", 1, func(c *reloader.Change) bool { return c.Cluster == cluster && c.Config == of })
	if err != nil || len(page.Items) == 0 {
		return nil
	}
	return page.Items[0]
}

// opening is when the windows of the fleet open next: some hours from now. It is on the hour, as its schedule is.
func (f *Fleet) opening() time.Time { return f.Now.UTC().Truncate(time.Hour).Add(4 * time.Hour) }

func (f *Fleet) thaw() time.Time { return f.Now.Add(50 * time.Hour) }

func (f *Fleet) clusters() []reloader.ClusterStatus {
	ago := func(d time.Duration) time.Time { return f.Now.Add(-d) }
	status := func(name, pod, subnet string, hints int64) reloader.ClusterStatus {
		return reloader.ClusterStatus{
			Cluster: name,
			UID:     "5d0f8a52-" + name,
			Version: "v0.1.0", Instance: "reroll-dispatcher-" + pod, StartedAt: ago(51 * time.Hour), Ready: true,
			At: ago(4 * time.Second),
			Hearing: reloader.Hearing{SweptAt: ago(2 * time.Minute), Sources: []reloader.SourceStatus{
				{Source: reloader.SourceAudit, Hints: hints, LastAt: ago(9 * time.Second)}, {Source: reloader.SourceSweep, Hints: 41, LastAt: ago(2 * time.Minute)},
			}, Feeds: []reloader.FeedStatus{
				{Address: subnet + ".11:6443", State: "heard", LastAt: ago(21 * time.Second)}, {Address: subnet + ".12:6443", State: "heard", LastAt: ago(35 * time.Second)},
			}},
		}
	}
	eu, us, staging := status("prod-eu", "7c9f5d84b6-x2kqp", "10.1.0", 182_331), status("prod-us", "7c9f5d84b6-m8wzt", "10.2.0", 97_120), status("staging", "66b7d9cf5-4hjln", "10.3.0", 4_028)
	eu.Held = map[reloader.Reason]int{reloader.ReasonOutsideWindow: 1, reloader.ReasonRefused: 1, reloader.ReasonWaitingForStep: 1}
	us.Pending, us.OldestPendingAt, us.HintsPending = 1, ago(99*time.Second), 212
	us.Drift, us.Feeds[1].State, us.Feeds[1].LastAt = 3, "silent", ago(14*time.Minute)
	us.Held = map[reloader.Reason]int{reloader.ReasonFlapping: 1, reloader.ReasonReloadFailed: 1}
	us.Pauses = []reloader.Pause{{Namespace: "platform", Selector: "app=gateway", Until: f.Now.Add(90 * time.Minute), Reason: "Certificate rotation, see #4312.", By: "bob@example.com"}}
	staging.Freeze = &reloader.Pause{Reason: loadTest, Until: f.thaw(), By: "dana@example.com"}
	staging.Windows = []reloader.Window{{Schedule: fmt.Sprintf("CRON_TZ=UTC 0 %d * * * 4h", f.opening().Hour()), Next: f.opening()}}
	staging.Held = map[reloader.Reason]int{reloader.ReasonFrozen: 1}
	fleet := []reloader.ClusterStatus{eu, us, staging}
	for i, c := range fleet {
		fleet[i].Workloads = len(slices.DeleteFunc(slices.Clone(apps), func(a app) bool { return a.cluster != c.Cluster }))
		for _, held := range c.Held {
			fleet[i].Pending += held
		}
	}
	return fleet
}
