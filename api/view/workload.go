package view

import (
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
)

// Use is one place in a pod template that refers to a config.
type Use struct {
	How       string   `json:"how" doc:"The field that refers to the config." example:"envFrom"`
	Container string   `json:"container,omitempty" doc:"The container that uses it. Absent if the whole pod does."`
	Keys      []string `json:"keys" nullable:"false" doc:"The keys in use. Empty means all of them."`
}

// Handled says to which content of a config a workload was brought, and how.
type Handled struct {
	Digest      string    `json:"digest,omitempty" doc:"Keyed fingerprint of that content, lower-case hex. Absent if the config did not exist."`
	DigestKeyID string    `json:"digestKeyID,omitempty" doc:"Names the key that digest was made with."`
	How         Reason    `json:"how" doc:"How the workload was brought there."`
	At          time.Time `json:"at" doc:"When that was settled."`
}

// Dependency is the dependency of a workload on one config.
type Dependency struct {
	Config        Config   `json:"config" doc:"The config that the workload asks for."`
	Why           Reason   `json:"why" doc:"Why the workload asks for it."`
	Clause        string   `json:"clause,omitempty" doc:"The annotation that says so."`
	Uses          []Use    `json:"uses" nullable:"false" doc:"Where the pod template refers to it. Empty if an annotation names it and nothing refers to it."`
	Handled       *Handled `json:"handled,omitempty" doc:"The content that the workload was brought to. Absent as long as no baseline is recorded."`
	PendingChange string   `json:"pendingChange,omitempty" doc:"The ID of the change that the workload waits for. Absent if it is up to date."`
}

// Hold says why a pending workload is not rolled now.
type Hold struct {
	Reason     Reason    `json:"reason" doc:"Why it waits."`
	Message    string    `json:"message,omitempty" doc:"The same for people, with the last error if there was one."`
	Since      time.Time `json:"since" doc:"When the wait began."`
	Due        time.Time `json:"due,omitzero" doc:"When it is tried again. Absent if no time is set."`
	Attempts   int       `json:"attempts,omitempty" minimum:"0" doc:"How often in a row it was tried in vain. Absent for what was not tried."`
	DeadLetter bool      `json:"deadLetter,omitempty" doc:"Whether the wait does not end by itself: somebody has to look."`
}

// Workload is one opted-in workload: what it depends on and how far it is.
type Workload struct {
	Cluster      string       `json:"cluster" doc:"The cluster that the workload is in."`
	Workload     WorkloadRef  `json:"workload" doc:"The workload's name."`
	UID          string       `json:"uid" doc:"The UID of the workload."`
	Dialect      string       `json:"dialect" doc:"Whose annotations it carries." example:"stakater"`
	Strategy     string       `json:"strategy" doc:"How marks are written on it." example:"env-vars"`
	Dependencies []Dependency `json:"dependencies" nullable:"false" doc:"The configs that it asks for."`
	Verdict      Verdict      `json:"verdict" doc:"How the workload stands."`
	Problems     []string     `json:"problems" nullable:"false" doc:"Faults of the workload's own annotations, for people."`
	Missing      []Missing    `json:"missing" nullable:"false" doc:"Configs that the workload names or refers to and that do not exist, or lack a key: the first ones."`
	Unreadable   []Unreadable `json:"unreadable" nullable:"false" doc:"Configs that the dispatcher cannot read, so that it sees no change of them: the first ones."`
	Hold         *Hold        `json:"hold,omitempty" doc:"Why a pending reload is not done now. Absent if nothing holds it."`
	LastReload   string       `json:"lastReload,omitempty" doc:"The ID of its last reload."`
	Rollout      *Rollout     `json:"rollout,omitempty" doc:"What became of the last reload so far. Absent if nobody follows it."`
	Shortened    []string     `json:"shortened,omitempty" enum:"messages,uses,terms,dependencies" doc:"What the record lacks because it would have been too large with it. Absent if it is whole."`
	UpdatedAt    time.Time    `json:"updatedAt" doc:"When its dispatcher last published it."`
}

// FromWorkload returns the view of w, which is in cluster c, at a time. c is nil if nothing is known of it.
func FromWorkload(w *reloader.WorkloadRecord, c *projection.ClusterState, now time.Time) Workload {
	return Workload{
		Cluster:      w.Cluster,
		Workload:     fromWorkloadRef(w.Workload),
		UID:          w.UID,
		Dialect:      w.Dialect,
		Strategy:     w.Strategy,
		Dependencies: each(w.Edges, fromEdge),
		Verdict:      FromVerdict(Judge(w, c, now)),
		Problems:     append([]string{}, w.Problems...),
		Missing:      each(w.Missing, fromMissing),
		Unreadable:   each(w.Unreadable, fromUnreadable),
		Hold:         fromHold(w.Hold),
		LastReload:   w.LastReload,
		Rollout:      fromRollout(w.Rollout),
		UpdatedAt:    w.UpdatedAt,
		Shortened:    fromParts(w.Shortened),
	}
}

func fromEdge(e reloader.Edge) Dependency {
	return Dependency{
		Config:        fromConfig(e.Config),
		Why:           Reason(e.Why),
		Clause:        e.Clause,
		Uses:          each(e.Uses, fromUse),
		Handled:       fromHandled(e.Handled),
		PendingChange: e.Pending,
	}
}

func fromUse(u reloader.Use) Use {
	return Use{How: u.How, Container: u.Container, Keys: append([]string{}, u.Keys...)}
}

func fromHandled(h reloader.Handled) *Handled {
	if h.How == "" {
		return nil
	}
	return &Handled{Digest: h.Sum, DigestKeyID: h.KeyID, How: Reason(h.How), At: h.At}
}

func fromHold(h *reloader.Hold) *Hold {
	if h == nil {
		return nil
	}
	return &Hold{
		Reason: Reason(h.Reason), Message: h.Message, Since: h.Since, Due: h.Due, Attempts: h.Attempts, DeadLetter: h.DeadLetter(),
	}
}
