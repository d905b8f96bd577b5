// Package verdict judges how a workload or a cluster stands: one state, one sentence and the next command. It alone has the words for that: the REST
// API with the dashboard, explain, status, check and impact show them as they are. It is pure: the caller passes the records and the time.
package verdict

import (
	"fmt"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/near"
)

// State says in one word how a workload stands.
type State string

// The states.
const (
	// NotOptedIn is that of a workload that no record is about.
	NotOptedIn State = "NotOptedIn"
	// Unreachable: the dispatcher of the cluster publishes nothing, so that the records may be out of date.
	Unreachable State = "Unreachable"
	// Failed: the workload cannot be patched. Invalid: an annotation of it has a fault.
	Failed  State = "Failed"
	Invalid State = "Invalid"
	// Unreadable: a config cannot be read. MissingConfig: a config, or a key of one, does not exist.
	Unreadable    State = "Unreadable"
	MissingConfig State = "MissingConfig"
	// Stalled: the workload was marked, and its new pods do not start. NotRolledOut: its controller waits for a user.
	Stalled      State = "Stalled"
	NotRolledOut State = "NotRolledOut"
	// Frozen: all reloads of the cluster are held back. Held: this workload is.
	Frozen State = "Frozen"
	Held   State = "Held"
	// Pending: Reroll has something to do, and does it in a moment.
	Pending State = "Pending"
	// Rolling: the rollout is under way.
	Rolling State = "Rolling"
	// NotRolled: a change was reported and not rolled, as the installation asks: a dry run, or a webhook in place of rollouts.
	NotRolled State = "NotRolled"
	// NotADependency is that of a workload and a config that it does not ask for. NoConfigs: the workload asks for none.
	NotADependency State = "NotADependency"
	NoConfigs      State = "NoConfigs"
	UpToDate       State = "UpToDate"
)

// States are all states, the worst first: those that need attention, those that wait, and those that are settled.
var States = slices.Concat(attention, waiting, settled)

var (
	attention = []State{NotOptedIn, Unreachable, Failed, Invalid, Unreadable, MissingConfig, Stalled, NotRolledOut}
	waiting   = []State{Frozen, Held, Pending}
	settled   = []State{Rolling, NotRolled, NotADependency, NoConfigs, UpToDate}
)

// NeedsAttention reports whether s does not end by itself.
func (s State) NeedsAttention() bool { return slices.Contains(attention, s) }

// Settled reports whether a workload in state s waits for nothing and needs no action.
func (s State) Settled() bool { return slices.Contains(settled, s) }

// Verdict is how a workload stands.
type Verdict struct {
	State          State           `json:"state" doc:"The state in one word."`
	Reason         reloader.Reason `json:"reason,omitempty" doc:"The reason, if one of the closed list says more."`
	NeedsAttention bool            `json:"needsAttention,omitempty" doc:"Whether the state does not end by itself."`
	Waits          bool            `json:"waits,omitempty" doc:"Whether the state is expected to end by itself."`
	Message        string          `json:"message" doc:"The same for people, in one sentence or few."`
	Next           string          `json:"next,omitempty" doc:"The next command, complete as it is. Absent if there is none."`
}

// Case is what is judged.
type Case struct {
	Cluster  string
	Workload reloader.WorkloadRef
	// Record is what the dispatcher has published about the workload; nil if nothing is on record.
	Record *reloader.WorkloadRecord
	// Status is what the dispatcher has published about its cluster; nil if that is not known.
	Status *reloader.ClusterStatus
	Now    time.Time
	// Live is what the cluster says about a workload without a record; nil if it was not asked.
	Live *Live
}

// Live is what the cluster says about a workload.
type Live struct {
	// Lacking says what does not exist; empty if the workload exists.
	Lacking string
	// Typo says which annotation is misspelt and what was meant; empty if none is.
	Typo string
	// Asks says that the annotations ask for configs.
	Asks bool
}

// Judge returns the verdict.
func Judge(c Case) Verdict {
	age := time.Duration(0)
	if c.Status != nil {
		age = silence(c.Status, c.Now).Round(time.Second)
	}
	if age == 0 {
		return c.judge()
	}
	known := "nothing is on record about this workload"
	if c.Record != nil {
		known = "the record of this workload is as of " + clock(c.Record.UpdatedAt)
	}
	return say(Unreachable, "", fmt.Sprintf("The dispatcher of cluster %s has published no status for %s; %s.", c.Cluster, age, known), "reroll check")
}

func say(s State, why reloader.Reason, message, next string) Verdict {
	return Verdict{State: s, Reason: why, NeedsAttention: s.NeedsAttention(), Waits: slices.Contains(waiting, s), Message: message, Next: next}
}

// Of returns how the workload stands to one config. forLast says that its last reload was for that config, so that what became of the rollout
// concerns it.
func (c Case) Of(config reloader.Config, forLast bool) Verdict {
	i := slices.IndexFunc(c.Record.Edges, func(e reloader.Edge) bool { return e.Config == config })
	switch {
	case i < 0:
		return c.noDependency(config, "")
	case c.Record.Edges[i].Why == reloader.ReasonNotShared:
		return c.noDependency(config, reloader.ReasonNotShared)
	}
	r := *c.Record
	r.Edges, r.Problems = r.Edges[i:i+1], nil
	r.Missing = slices.DeleteFunc(slices.Clone(r.Missing), func(m reloader.Missing) bool { return m.Config != config && m.Config != reloader.Config{} })
	if r.Edges[0].Pending == "" {
		r.Hold = nil
	}
	if !forLast {
		r.Rollout = nil
	}
	c.Record = &r
	return Judge(c)
}

// noDependency is the verdict of a workload and a config that it does not depend on, or that is not shared with it.
func (c Case) noDependency(config reloader.Config, why reloader.Reason) Verdict {
	if why != "" {
		return say(NotADependency, why, "The workload "+why.Says()+".", "")
	}
	text := "No annotation of the workload asks for " + named(config) + ": it is neither named nor referenced, or it is excluded, ignored, or in another namespace."
	var names []string
	for _, e := range c.Record.Edges {
		if e.Config.Kind == config.Kind {
			names = append(names, e.Config.Name)
		}
	}
	if meant, ok := near.Word(config.Name, names); ok {
		text += " Did you mean " + meant + "?"
	}
	return say(NotADependency, "", text, "")
}
