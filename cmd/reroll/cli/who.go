package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

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
