package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

type resource struct {
	name string
	// state is the parameter that --state sets, and states its values.
	state   string
	states  []string
	columns []column
	read    func(raw json.RawMessage, now time.Time) (row, error)
	names   naming
}

// row is a record as a table shows it, and how other commands name it.
type row struct {
	cluster, name string
	cells         []cell
}

var resources = []resource{
	{
		name: "changes", state: "type", states: textsOf(changeTypes), read: reading(changeRow),
		columns: columnsOf("ID, AGE*, CLUSTER, CONFIG, TYPE, KEYS, WHO, ROLLED, +VERIFIED, +LATENCY, +SOURCE, +CLIENT"),
	},
	{
		name: "reloads", state: "outcome", states: textsOf(reloader.Outcomes), read: reading(reloadRow), names: workloadNames,
		columns: columnsOf("ID, AGE*, CLUSTER, WORKLOAD, OUTCOME, ROLLOUT, BECAUSE OF, WHO, LATENCY, +DECIDED, +STRATEGY, +PODS, +MESSAGE"),
	},
	{
		name: "workloads", state: "state", states: textsOf(verdict.States), read: reading(workloadRow), names: workloadNames,
		columns: columnsOf("CLUSTER, WORKLOAD, STATE, FOR*, CONFIGS, ROLLOUT, +LAST RELOAD, +DIALECT, +STRATEGY, +UNTIL, +MESSAGE, +NEXT"),
	},
	{
		name: "clusters", state: "health", states: textsOf([]verdict.Health{verdict.Healthy, verdict.Degraded, verdict.Away, verdict.Unknown}), read: reading(clusterRow), names: clusterNames,
		columns: columnsOf("NAME, HEALTH, WORKLOADS, PENDING, HELD, LAST CHANGE*, LAST RELOAD*, +SOURCES, +DRIFT, +VERSION, +INSTANCE"),
	},
}

var changeTypes = []reloader.ChangeType{reloader.ChangeBaseline, reloader.ChangeCreated, reloader.ChangeUpdated, reloader.ChangeDeleted}

func resourceNames() (names []string) {
	for _, r := range resources {
		names = append(names, r.name)
	}
	return names
}

func textsOf[T ~string](words []T) (texts []string) {
	for _, w := range words {
		texts = append(texts, string(w))
	}
	slices.Sort(texts)
	return texts
}

// reading returns what reads a record of type T and shows it.
func reading[T any](show func(v T, now time.Time) row) func(json.RawMessage, time.Time) (row, error) {
	return func(raw json.RawMessage, now time.Time) (row, error) {
		var v T
		if err := decode(raw, &v); err != nil {
			return row{}, err
		}
		return show(v, now), nil
	}
}

func changeRow(r view.ChangeRow, now time.Time) row {
	latency, client := dash, dash
	if !r.RequestedAt.IsZero() {
		latency = r.VerifiedAt.Sub(r.RequestedAt).Round(time.Millisecond).String()
	}
	if len(r.Candidates) == 1 {
		client = cmp.Or(r.Candidates[0].UserAgent, dash)
	}
	return row{r.Cluster, r.Change.ID, []cell{
		text(r.Change.ID), text(since(now, r.VerifiedAt)), text(r.Cluster), text(configRef("", r.Config).String()), text(string(r.Type)), text(keysOf(r.Keys)),
		text(whoOf(r.Candidates)), rolledCell(r), text(exactly(r.VerifiedAt)), text(latency), text(string(r.Source)), text(client),
	}}
}

func reloadRow(r reloader.Reload, now time.Time) row {
	latency, who, rollout := dash, whoCaused(r.Causes), rolloutCell(r.Rollout)
	if r.Pods != nil && r.Outcome != reloader.ReasonReloaded {
		rollout = text(fmt.Sprintf("%d/%d pods", r.Pods.Answered, r.Pods.Asked))
	}
	if took, ok := r.Latency(); ok {
		latency = took.Round(time.Millisecond).String()
	}
	if r.Requested != "" {
		who = "requested: " + r.Requested
	}
	return row{r.Cluster, r.ID, []cell{
		text(r.ID), text(since(now, r.DecidedAt)), text(r.Cluster), text(workloadRef("", r.Workload).String()), reasonCell(r.Outcome), rollout,
		text(causesOf(r)), text(who), text(latency), text(exactly(r.DecidedAt)), text(cmp.Or(r.Strategy, dash)), text(cmp.Or(r.Pods.String(), dash)), text(cmp.Or(r.Message, dash)),
	}}
}

func workloadRow(w view.Workload, now time.Time) row {
	age, until := dash, dash
	if w.Hold != nil {
		age, until = since(now, w.Hold.Since), exactly(w.Hold.Due)
	}
	name := workloadRef("", w.Workload).String()
	return row{w.Cluster, name, []cell{
		text(w.Cluster), text(name), verdictCell(w.Verdict), text(age), text(fmt.Sprint(len(w.Edges))), rolloutCell(w.Rollout), text(cmp.Or(w.LastReload, dash)),
		text(cmp.Or(w.Dialect, dash)), text(cmp.Or(w.Strategy, dash)), text(until), text(w.Verdict.Message), text(cmp.Or(w.Verdict.Next, dash)),
	}}
}

func clusterRow(c view.Cluster, now time.Time) row {
	var sources []string
	for _, source := range c.Sources {
		sources = append(sources, string(source.Source))
	}
	held := 0
	for _, n := range c.Held {
		held += n
	}
	return row{c.Cluster, c.Cluster, []cell{
		text(c.Cluster), healthCell(c.Health), text(fmt.Sprint(c.Workloads)), text(fmt.Sprint(c.Pending)), text(fmt.Sprint(held)), text(since(now, c.LastChangeAt)),
		text(since(now, c.LastReloadAt)), text(cmp.Or(strings.Join(sources, ","), dash)), text(fmt.Sprint(c.Drift)),
		text(cmp.Or(c.Version, dash)), text(cmp.Or(c.Instance, dash)),
	}}
}

func healthCell(h verdict.Health) cell {
	styles := map[verdict.Health]style{verdict.Healthy: good, verdict.Degraded: alert, verdict.Away: bad, verdict.Unknown: bad}
	return cell{string(h), styles[h]}
}

// verdictCell shows the state of v, or the reason of a hold.
func verdictCell(v verdict.Verdict) cell {
	if v.State == verdict.Held && v.Reason != "" {
		return cell{string(v.Reason), stateStyle(v.State)}
	}
	return cell{string(v.State), stateStyle(v.State)}
}

func stateStyle(s verdict.State) style {
	switch {
	case s == verdict.UpToDate:
		return good
	case s.NeedsAttention():
		return bad
	case s == verdict.NoConfigs, s == verdict.NotADependency:
		return plain
	}
	return alert
}

func reasonCell(r reloader.Reason) cell {
	styles := map[reloader.Reason]style{
		reloader.ReasonReloaded: good, reloader.ReasonRolledOut: good, reloader.ReasonRefused: bad,
		reloader.ReasonVerified: good, reloader.ReasonCalled: good, reloader.ReasonRefreshed: good, reloader.ReasonReloadFailed: bad, reloader.ReasonFailing: bad, reloader.ReasonStalled: bad, reloader.ReasonHalted: bad, reloader.ReasonRetrying: alert,
	}
	return cell{string(r), styles[r]}
}

func rolloutCell(r *reloader.Rollout) cell {
	if r == nil {
		return text(dash)
	}
	return reasonCell(r.Result)
}

// rolledCell counts the workloads that a change reached, each once, by what became of it.
func rolledCell(r view.ChangeRow) cell {
	became := map[ref]string{}
	for _, reload := range r.Reloads {
		what := "not needed"
		switch outcome := reload.Outcome; {
		case outcome == reloader.ReasonReloaded && reload.Rollout != nil && reload.Rollout.Result == reloader.ReasonStalled:
			what = "stalled"
		case outcome == reloader.ReasonReloaded:
			what = "rolled"
		case slices.Contains(reloader.HotReasons, outcome):
			what = "reloaded"
		case slices.Contains(reloader.DeadLetterReasons, outcome):
			what = "failed"
		}
		became[workloadRef(reload.Cluster, reload.Workload)] = what
	}
	for _, p := range r.Pending {
		became[workloadRef(p.Cluster, p.Workload)] = "waiting"
		if p.Hold != nil {
			became[workloadRef(p.Cluster, p.Workload)] = "held"
		}
	}
	counts := map[string]int{}
	for _, what := range became {
		counts[what]++
	}
	var parts []string
	c := cell{}
	for _, what := range []string{"rolled", "reloaded", "stalled", "failed", "held", "waiting", "not needed"} {
		if counts[what] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[what], what))
		}
	}
	switch {
	case counts["stalled"]+counts["failed"] > 0:
		c.style = bad
	case counts["held"]+counts["waiting"] > 0:
		c.style = alert
	}
	c.text = cmp.Or(strings.Join(parts, ", "), dash)
	return c
}

// keysOf names keys, with the sign of those that were added or removed.
func keysOf(keys []reloader.KeyChange) string {
	var names []string
	signs := map[string]string{reloader.KeyAdded: "+", reloader.KeyRemoved: "-"}
	for _, k := range keys {
		names = append(names, signs[k.Op]+k.Key)
	}
	return cmp.Or(strings.Join(names, ","), dash)
}

// whoOf names the candidates: of several, none is asserted.
func whoOf(candidates []reloader.Candidate) string {
	var names []string
	for _, c := range candidates {
		names = append(names, c.Name())
	}
	switch {
	case len(names) > 1:
		return "one of " + strings.Join(names, ", ")
	case len(names) == 1 && !candidates[0].Sure:
		return "perhaps " + names[0]
	}
	return cmp.Or(strings.Join(names, ""), dash)
}

func whoCaused(causes []reloader.Cause) string {
	var names []string
	for _, c := range causes {
		if who := whoOf(c.Candidates); who != dash {
			names = union(names, []string{who})
		}
	}
	return cmp.Or(strings.Join(names, "; "), dash)
}

// causesOf names the configs behind a reload, with the keys that changed.
func causesOf(r reloader.Reload) string {
	var names []string
	for _, c := range r.Causes {
		name := nearName(c.Config, r.Workload)
		if len(c.Keys) > 0 {
			name += " [" + keysOf(c.Keys) + "]"
		}
		names = union(names, []string{name})
	}
	return cmp.Or(strings.Join(names, ","), dash)
}
