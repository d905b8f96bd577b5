package view

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
)

// Impact says what would roll if a config changed now.
type Impact struct {
	Cluster   string             `json:"cluster" doc:"The cluster that the config is in."`
	Config    Config             `json:"config" doc:"The config."`
	Keys      []string           `json:"keys" nullable:"false" doc:"The keys that are supposed to change. Empty means any."`
	Rolls     int                `json:"rolls" doc:"How many workloads would roll at once."`
	Waits     int                `json:"waits" doc:"How many would roll later, some only once somebody has looked: outcome says why."`
	Notified  int                `json:"notified" doc:"For how many a webhook would be called instead."`
	Never     int                `json:"never" doc:"How many would not roll for it at all: outcome says why."`
	Workloads []ImpactedWorkload `json:"workloads" nullable:"false" doc:"The workloads that ask for the config, those of other clusters too."`
	Complete  bool               `json:"complete" doc:"Whether every workload that would roll or wait is in this answer, of all clusters that this API knows. If not, warnings say why, and that nothing would roll is not known."`
	Warnings  []string           `json:"warnings" nullable:"false" doc:"What may be missing from this answer or otherwise than it says, for people."`
}

// Impacts says what would roll if each of several configs changed now.
type Impacts struct {
	List[Impact]
	Complete bool `json:"complete" doc:"Whether every item is complete."`
}

// ImpactedWorkload is a workload that a change would reach.
type ImpactedWorkload struct {
	Cluster  string      `json:"cluster" doc:"The cluster that the workload is in, which follows the config if that is another's."`
	Workload WorkloadRef `json:"workload" doc:"The workload."`
	Why      Reason      `json:"why" doc:"Why it asks for the config."`
	Clause   string      `json:"clause,omitempty" doc:"The annotation that says so."`
	Strategy string      `json:"strategy" doc:"How it would be marked." example:"env-vars"`
	Uses     []Use       `json:"uses" nullable:"false" doc:"Where the pod template refers to the config."`
	UsesKeys bool        `json:"usesKeys" doc:"Whether the pod template uses one of the keys. A workload that uses none of them rolls all the same if its annotations ask for the whole config."`
	Outcome  Reason      `json:"outcome" doc:"What would become of it: Reloaded, Notified where a webhook is called instead, why it would wait, or why nothing would come of it."`
	Message  string      `json:"message,omitempty" doc:"More about that, for people." example:"ConfigMap/shop/settings is missing"`
	Due      time.Time   `json:"due,omitzero" doc:"Until when it would wait, if that is known."`
}

// Supposed is the change that an impact is asked for.
type Supposed struct {
	Key  projection.ConfigKey
	Keys []string
	// Dependents are the workloads on record that ask for the config.
	Dependents []*reloader.WorkloadRecord
	// Clusters has those of Reaches about which something is on record.
	Clusters map[string]*projection.ClusterState
	Now      time.Time
}

// Reaches returns the clusters that the change would reach: the config's own first, and those that follow it by name.
func (s Supposed) Reaches() []string {
	followers := map[string]bool{}
	for _, w := range s.Dependents {
		if w.Cluster != s.Key.Cluster {
			followers[w.Cluster] = true
		}
	}
	return append([]string{s.Key.Cluster}, slices.Sorted(maps.Keys(followers))...)
}

// edge returns the place among the edges of w of the config; -1 if it does not ask for it.
func (s Supposed) edge(w *reloader.WorkloadRecord) int {
	return slices.IndexFunc(w.Edges, func(e reloader.Edge) bool { return s.isOf(w, e.Config) })
}

// isOf reports whether c, as w names it, is the config.
func (s Supposed) isOf(w *reloader.WorkloadRecord, c reloader.Config) bool {
	return projection.KeyOf(w.Cluster, c) == s.Key
}

// FromSupposed returns what would roll.
func FromSupposed(s Supposed) Impact {
	v := Impact{
		Cluster: s.Key.Cluster, Config: fromConfig(s.Key.Config), Keys: append([]string{}, s.Keys...),
		Workloads: []ImpactedWorkload{}, Complete: s.complete(), Warnings: s.warnings(),
	}
	for _, w := range s.Dependents {
		i := s.edge(w)
		if i < 0 {
			continue // it has stopped asking in the meantime
		}
		f := s.foresee(w)
		v.Workloads = append(v.Workloads, ImpactedWorkload{
			Cluster: w.Cluster, Workload: fromWorkloadRef(w.Workload), Why: Reason(w.Edges[i].Why), Clause: w.Edges[i].Clause, Strategy: w.Strategy,
			Uses: each(w.Edges[i].Uses, fromUse), UsesKeys: usesKeys(w.Edges[i].Uses, s.Keys),
			Outcome: Reason(f.outcome), Message: f.message, Due: f.due,
		})
		*v.counter(FateOf(Reason(f.outcome)))++
	}
	return v
}

// Fate sums up what would become of a workload.
type Fate string

// The fates of a workload that a change reaches.
const (
	RollsNow   Fate = "Now"
	RollsLater Fate = "Later"
	IsNotified Fate = "Notified"
	// RollsNever is that of a workload that is not rolled for this change at all.
	RollsNever Fate = "Never"
)

// FateOf sums up an outcome. One that a later server may know is taken for a roll to come: better one too many than one too few.
func FateOf(outcome Reason) Fate {
	reason := reloader.Reason(outcome)
	_, known := reloader.Reasons[reason]
	switch {
	case reason == reloader.ReasonReloaded:
		return RollsNow
	case reason == reloader.ReasonNotified:
		return IsNotified
	case !known || slices.Contains(reloader.HoldReasons, reason):
		return RollsLater
	}
	return RollsNever
}

// counter is where those of a fate are counted.
func (v *Impact) counter(f Fate) *int {
	switch f {
	case RollsNow:
		return &v.Rolls
	case IsNotified:
		return &v.Notified
	case RollsNever:
		return &v.Never
	}
	return &v.Waits
}

func (p Pause) covers(w *reloader.WorkloadRecord) bool {
	return p.Namespace == "" || p.Namespace == w.Workload.Namespace
}

// farBehind is how many records of workloads may be on their way from a cluster to its hub at any moment: it is less than a cluster brings in
// the seconds between two of its reports.
const farBehind = 100

// Stale says why the records of a cluster may not be those of now; empty if its dispatcher has told of itself lately, has seen every
// workload, and has brought what it knows of them.
func Stale(c *projection.ClusterState, now time.Time) string {
	switch h := health(c, now); {
	case h == Away || h == Unknown || !c.Status.Ready:
		return problems(c, now)[0] + " What is on record may be out of date."
	case c.Status.Forward != nil && c.Status.Forward.Positions[reloader.WorkloadRecords].Behind > farBehind:
		return fmt.Sprintf("%d records of workloads were still to come. What is on record may be out of date.", c.Status.Forward.Positions[reloader.WorkloadRecords].Behind)
	}
	return ""
}

// complete reports whether the records of every cluster that the change would reach are those of now.
func (s Supposed) complete() bool {
	return !slices.ContainsFunc(s.Reaches(), func(name string) bool { return s.Clusters[name] == nil || Stale(s.Clusters[name], s.Now) != "" })
}

func (s Supposed) warnings() []string {
	found := []string{}
	for _, name := range s.Reaches() {
		for _, problem := range s.warningsOf(name) {
			if name != s.Key.Cluster {
				problem = "Cluster " + name + ": " + problem
			}
			found = append(found, problem)
		}
	}
	return found
}

func (s Supposed) warningsOf(cluster string) (found []string) {
	c := s.Clusters[cluster]
	if c == nil {
		return []string{"Nothing is on record about this cluster."}
	}
	if why := Stale(c, s.Now); why != "" {
		found = append(found, why)
	}
	for _, p := range FromPauses(c, s.Now) {
		covers := func(w *reloader.WorkloadRecord) bool { return w.Cluster == cluster && p.covers(w) }
		if p.Selector != "" && slices.ContainsFunc(s.Dependents, covers) {
			found = append(found, "A pause may hold some of these back: it selects workloads by the labels "+p.Selector+".")
		}
	}
	return found
}

// usesKeys reports whether one of the keys is in use. No keys stand for any.
func usesKeys(uses []reloader.Use, keys []string) bool {
	return slices.ContainsFunc(uses, func(u reloader.Use) bool {
		return len(u.Keys) == 0 || len(keys) == 0 || slices.ContainsFunc(u.Keys, func(k string) bool { return slices.Contains(keys, k) })
	})
}
