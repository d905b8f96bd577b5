package view

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// Impact says what would roll if a config changed now.
type Impact struct {
	Cluster       string             `json:"cluster" doc:"The cluster that the config is in."`
	Config        reloader.Config    `json:"config" doc:"The config."`
	Keys          []string           `json:"keys" nullable:"false" doc:"The keys that are supposed to change. Empty means any."`
	RollsNow      int                `json:"rollsNow" doc:"How many workloads would roll at once."`
	RollsLater    int                `json:"rollsLater" doc:"How many would roll later, some only after an operator has acted: their verdicts say why."`
	ReloadCount   int                `json:"reloadCount" doc:"How many would take the change in their running pods, without a restart."`
	NotifiedCount int                `json:"notifiedCount" doc:"For how many a webhook would be called instead."`
	NeverCount    int                `json:"neverCount" doc:"How many would not roll for it at all: their verdicts say why."`
	Workloads     []ImpactedWorkload `json:"workloads" nullable:"false" doc:"The workloads that ask for the config, those of other clusters too."`
	Complete      bool               `json:"complete" doc:"Whether every workload that would roll is in this answer, of all clusters that this API knows. If not, warnings say why."`
	Warnings      []string           `json:"warnings" nullable:"false" doc:"What may be missing from this answer, or wrong in it, for people."`
}

// ImpactedWorkload is a workload that a change would reach.
type ImpactedWorkload struct {
	Cluster    string               `json:"cluster" doc:"The cluster that the workload is in, which follows the config if that is another's."`
	Workload   reloader.WorkloadRef `json:"workload" doc:"The workload."`
	Strategy   string               `json:"strategy" doc:"How it would be marked." example:"env-vars"`
	Dependency reloader.Edge        `json:"dependency" doc:"Why it asks for the config, and how it uses it."`
	UsesKeys   bool                 `json:"usesKeys" doc:"Whether the pod template uses one of the keys. A workload that uses none of them rolls all the same if its annotations ask for the whole config."`
	Fate       verdict.Fate         `json:"fate" enum:"Now,Later,Reloads,Notified,Never" doc:"Whether it would roll: Now, Later, Never, Reloads where running pods take the change without a restart, or Notified where a webhook is called instead."`
	Verdict    verdict.Verdict      `json:"verdict" doc:"The verdict if the change happened now. Limits on the number of rolls are not considered."`
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

// FromSupposed returns what would roll.
func FromSupposed(s Supposed) Impact {
	v := Impact{
		Cluster: s.Key.Cluster, Config: s.Key.Config, Keys: append([]string{}, s.Keys...), Workloads: []ImpactedWorkload{}, Complete: true, Warnings: []string{},
	}
	for _, w := range s.Dependents {
		i := slices.IndexFunc(w.Edges, func(e reloader.Edge) bool { return projection.KeyOf(w.Cluster, e.Config) == s.Key })
		if i < 0 {
			continue // it has stopped asking in the meantime
		}
		fate, says := CaseOf(w, s.Clusters[w.Cluster], s.Now).Suppose(w.Edges[i], s.Keys)
		v.Workloads = append(v.Workloads, ImpactedWorkload{
			Cluster: w.Cluster, Workload: w.Workload, Strategy: w.Strategy, Dependency: w.Edges[i], UsesKeys: usesKeys(w.Edges[i].Uses, s.Keys), Fate: fate, Verdict: says,
		})
		*map[verdict.Fate]*int{verdict.RollsNow: &v.RollsNow, verdict.RollsLater: &v.RollsLater, verdict.Reloads: &v.ReloadCount, verdict.Notified: &v.NotifiedCount, verdict.RollsNever: &v.NeverCount}[fate]++
	}
	for _, name := range s.Reaches() {
		if doubt := s.doubt(name); doubt != "" {
			v.Complete = false
			if name != s.Key.Cluster {
				doubt = "Cluster " + name + ": " + doubt
			}
			v.Warnings = append(v.Warnings, doubt)
		}
		v.Warnings = append(v.Warnings, s.selective(name)...)
	}
	return v
}

// doubt says why the records of a cluster may not be those of now; empty if they are.
func (s Supposed) doubt(cluster string) string {
	c := s.Clusters[cluster]
	if c == nil {
		return "Nothing is on record about this cluster."
	}
	return verdict.Doubt(c.Status, c.Positions, s.Now)
}

// selective warns of pauses that select workloads by their labels, which are not on record.
func (s Supposed) selective(cluster string) (found []string) {
	c := s.Clusters[cluster]
	if c == nil || c.Status == nil {
		return nil
	}
	for _, p := range c.Status.Pauses {
		covers := func(w *reloader.WorkloadRecord) bool {
			return w.Cluster == cluster && (p.Namespace == "" || p.Namespace == w.Workload.Namespace)
		}
		if p.Selector != "" && p.On(s.Now) && slices.ContainsFunc(s.Dependents, covers) {
			found = append(found, fmt.Sprintf("A pause of cluster %s may hold some of these back: it selects workloads by the labels %s.", cluster, p.Selector))
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
