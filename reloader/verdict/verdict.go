// Package verdict judges how a workload stands: one state, one sentence and the next command. Everything that answers people takes these
// from here: the REST API with the dashboard, explain, workloads, status and check. It is pure: the caller passes the records and the time.
package verdict

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// State says in one word how a workload stands.
type State string

// The states.
const (
	// NotOptedIn is that of a workload that no record is about.
	NotOptedIn State = "NotOptedIn"
	// NotADependency is that of a workload and a config that it does not ask for.
	NotADependency State = "NotADependency"
	// NoConfigs: the workload is opted in and asks for no config.
	NoConfigs State = "NoConfigs"
	// Unreachable: the dispatcher of the cluster publishes nothing, so that the records may be out of date.
	Unreachable State = "Unreachable"
	// Failed: the workload cannot be patched.
	Failed State = "Failed"
	// Invalid: an annotation of the workload has a fault.
	Invalid State = "Invalid"
	// Unreadable: a config cannot be read.
	Unreadable State = "Unreadable"
	// MissingConfig: a config, or a key of one, does not exist.
	MissingConfig State = "MissingConfig"
	// Stalled: the workload was marked, and its new pods do not start.
	Stalled State = "Stalled"
	// NotRolledOut: the workload was marked, and its controller waits for a user.
	NotRolledOut State = "NotRolledOut"
	// Frozen: all reloads of the cluster are held back. Held: this workload is.
	Frozen State = "Frozen"
	Held   State = "Held"
	// Pending: a change waits for its debounce window. Rolling: the rollout is under way.
	Pending State = "Pending"
	Rolling State = "Rolling"
	// NoBaseline: it is not on record yet which content the workload runs with.
	NoBaseline State = "NoBaseline"
	UpToDate   State = "UpToDate"
	// NotRolled: a change was reported and not rolled, as the installation asks: a dry run, or a webhook in place of rollouts.
	NotRolled State = "NotRolled"
)

// States are all states, the worst first.
var States = []State{
	NotOptedIn, Unreachable, Failed, Invalid, Unreadable, MissingConfig, Stalled, NotRolledOut,
	Frozen, Held, Pending, NoBaseline, Rolling, NotRolled, NotADependency, NoConfigs, UpToDate,
}

// attention are the states that do not end by themselves.
var attention = []State{NotOptedIn, Unreachable, Failed, Invalid, Unreadable, MissingConfig, Stalled, NotRolledOut}

// NeedsAttention reports whether s does not end by itself.
func (s State) NeedsAttention() bool { return slices.Contains(attention, s) }

// Settled reports whether a workload in state s waits for nothing and needs no action.
func (s State) Settled() bool {
	return slices.Contains([]State{UpToDate, Rolling, NotRolled, NoConfigs, NotADependency}, s)
}

// Verdict is how a workload stands.
type Verdict struct {
	State  State           `json:"state" doc:"The state in one word."`
	Reason reloader.Reason `json:"reason,omitempty" doc:"The reason, if one of the closed list says more."`
	// NeedsAttention is what State.NeedsAttention reports.
	NeedsAttention bool `json:"needsAttention,omitempty" doc:"Whether the state does not end by itself."`
	// Waits reports whether the state is neither settled nor one that needs attention.
	Waits   bool   `json:"waits,omitempty" doc:"Whether something is expected to happen to it without anybody's help."`
	Message string `json:"message" doc:"The same for people, in one sentence or few."`
	Next    string `json:"next,omitempty" doc:"The next command, complete as it is. Absent if there is none."`
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

// Judge returns the verdict of the first rule that has something to say.
func Judge(c Case) Verdict { return c.judge(rules) }

func (c Case) judge(rules []rule) Verdict {
	for _, r := range rules {
		if v, ok := r.judge(c); ok {
			v.State, v.NeedsAttention, v.Waits = r.state, r.state.NeedsAttention(), !r.state.Settled() && !r.state.NeedsAttention()
			return v
		}
	}
	return upToDate(c)
}

// Of returns how the workload stands to one config. forLast says that its last reload was for that config, so that what became of the rollout
// concerns it.
func (c Case) Of(config reloader.Config, forLast bool) Verdict {
	i := slices.IndexFunc(c.Record.Edges, func(e reloader.Edge) bool { return e.Config == config })
	if i < 0 {
		return c.noDependency(config, "")
	}
	e := c.Record.Edges[i]
	if e.Why == reloader.ReasonNotShared {
		return c.noDependency(config, e.Why)
	}
	r := *c.Record
	r.Edges, r.Problems = []reloader.Edge{e}, nil
	r.Missing = slices.DeleteFunc(slices.Clone(r.Missing), func(m reloader.Missing) bool { return m.Config != config })
	r.Unreadable = slices.DeleteFunc(slices.Clone(r.Unreadable), func(u reloader.Unreadable) bool { return u.Config != config && u.Config != reloader.Config{} })
	if e.Pending == "" {
		r.Hold = nil
	}
	if !forLast {
		r.Rollout = nil
	}
	c.Record = &r
	return Judge(c)
}
