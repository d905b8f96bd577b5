package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
)

// State says in one word how a workload stands to a config.
type State string

// The states of a workload and a config.
const (
	StateNotOptedIn     State = "NotOptedIn"
	StateNotADependency State = "NotADependency"
	StateNoBaseline     State = "NoBaseline"
	StateUpToDate       State = "UpToDate"
	StatePending        State = "Pending"
	StateHeld           State = "Held"
)

// Explanation says how a workload stands to a config, and by which steps that is known.
type Explanation struct {
	Cluster  string      `json:"cluster" doc:"The workload's cluster."`
	Workload WorkloadRef `json:"workload" doc:"The workload."`
	Config   Config      `json:"config" doc:"The config."`
	State    State       `json:"state" enum:"NotOptedIn,NotADependency,NoBaseline,UpToDate,Pending,Held" doc:"How the workload stands to the config. NoBaseline: what it was brought to is not recorded yet. Pending: it waits for its quiet window. Held: it waits longer, and reason says why."`
	Reason   Reason      `json:"reason,omitempty" doc:"How an up-to-date workload was brought there, or why a held one waits. Absent in other states."`
	Steps    []Step      `json:"steps" nullable:"false" doc:"How that is known, in the order in which it is decided."`
}

// Step is one thing that was looked at.
type Step struct {
	Step    string    `json:"step" enum:"OptIn,Rule,Use,Change,Content,Brakes,Outcome" doc:"What was looked at: whether the workload is opted in; which annotation asks for the config; how the pod template uses it; its newest change; to which content the workload was brought; what holds the workload back; what became of the change."`
	Result  string    `json:"result" enum:"Passed,Stopped,Noted" doc:"Passed: on to the next step. Stopped: this is why nothing rolls. Noted: good to know."`
	Reason  Reason    `json:"reason,omitempty" doc:"The reason, if one of the closed list says it."`
	Clause  string    `json:"clause,omitempty" doc:"The annotation that decided."`
	Message string    `json:"message" doc:"The same for people."`
	Change  string    `json:"change,omitempty" doc:"The ID of the change that the step is about."`
	Reload  string    `json:"reload,omitempty" doc:"The ID of the reload that the step is about."`
	At      time.Time `json:"at,omitzero" doc:"When it was so."`
}

// The results of a step.
const (
	passed  = "Passed"
	stopped = "Stopped"
	noted   = "Noted"
)

// Evidence is what an explanation is made of.
type Evidence struct {
	Key    projection.WorkloadKey
	Config reloader.Config
	// Workload, ConfigState and Cluster are nil if nothing is on record.
	Workload    *reloader.WorkloadRecord
	ConfigState *projection.ConfigState
	Cluster     *projection.ClusterState
	// Reloads are those that the newest change of the config caused.
	Reloads []*reloader.Reload
	Now     time.Time
}

// Explain says how a workload stands to a config.
func Explain(e Evidence) Explanation {
	x := Explanation{Cluster: e.Key.Cluster, Workload: fromWorkloadRef(e.Key.Workload), Config: fromConfig(e.Config), Steps: []Step{}}
	edge, ok := x.optIn(e)
	if !ok {
		return x
	}
	x.rule(edge)
	if edge.Why == reloader.ReasonNotShared {
		x.State = StateNotADependency
		return x
	}
	x.change(e)
	if x.content(edge) {
		x.outcome(e)
		return x
	}
	x.brakes(e)
	x.outcome(e)
	return x
}

func (x *Explanation) step(s Step) { x.Steps = append(x.Steps, s) }

// optIn returns the edge, if the workload is opted in and has one.
func (x *Explanation) optIn(e Evidence) (reloader.Edge, bool) {
	if e.Workload == nil {
		x.State = StateNotOptedIn
		x.step(Step{
			Step: "OptIn", Result: stopped, Reason: Reason(reloader.ReasonNotOptedIn),
			Message: "Nothing is on record about this workload: it does not exist, carries no annotation that asks for a config, is told to be ignored, or is of a kind or in a namespace that the dispatcher leaves out.",
		})
		return reloader.Edge{}, false
	}
	message := "The workload is opted in by annotations of " + e.Workload.Dialect + "."
	if len(e.Workload.Problems) > 0 {
		message += " They have faults: " + strings.Join(e.Workload.Problems, "; ") + "."
	}
	x.step(Step{Step: "OptIn", Result: passed, Message: message, At: e.Workload.UpdatedAt})
	for _, edge := range e.Workload.Edges {
		if edge.Config == e.Config {
			return edge, true
		}
	}
	x.State = StateNotADependency
	x.step(Step{
		Step: "Rule", Result: stopped,
		Message: "No annotation of the workload asks for this config: it is neither named nor referenced, or it is excluded, ignored, or in another namespace.",
	})
	return reloader.Edge{}, false
}

func (x *Explanation) rule(edge reloader.Edge) {
	x.step(Step{
		Step: "Rule", Result: passed, Reason: Reason(edge.Why), Clause: edge.Clause,
		Message: "The workload " + reloader.Reasons[edge.Why] + ".",
	})
	if len(edge.Uses) == 0 {
		x.step(Step{Step: "Use", Result: noted, Message: "Nothing in the pod template refers to the config; the annotation alone asks for it."})
		return
	}
	var uses []string
	for _, u := range edge.Uses {
		uses = append(uses, sayUse(u))
	}
	x.step(Step{Step: "Use", Result: passed, Message: "The pod template uses it as " + strings.Join(uses, ", ") + "."})
}

func sayUse(u reloader.Use) string {
	text := u.How
	if u.Container != "" {
		text += " of container " + u.Container
	}
	if len(u.Keys) > 0 {
		text += " (" + strings.Join(u.Keys, ", ") + ")"
	}
	return text
}

func (x *Explanation) change(e Evidence) {
	if e.ConfigState == nil || e.ConfigState.Latest == nil {
		x.step(Step{Step: "Change", Result: noted, Message: "No change of the config is on record."})
		return
	}
	c := e.ConfigState.Latest
	message := "The newest record of the config is a baseline: it has not changed since it was first seen."
	if c.Type != reloader.ChangeBaseline {
		message = fmt.Sprintf("The config was last %s%s.", strings.ToLower(string(c.Type)), sayWho(c.Candidates))
	}
	if c.Unproven {
		message += " That its content changed is not proved: it had not been read before, and whoever wrote the content last owns other fields of it, too, which may be what they wrote."
	}
	x.step(Step{Step: "Change", Result: passed, Message: message, Change: c.ID, At: c.VerifiedAt})
}

func sayWho(candidates []reloader.Candidate) string {
	switch {
	case len(candidates) == 0 || len(candidates) == 1 && candidates[0].Actor.Name() == "":
		return ""
	case len(candidates) == 1 && candidates[0].Basis == reloader.BasisAmbiguous:
		return ", perhaps by " + candidates[0].Actor.Name()
	case len(candidates) == 1:
		return " by " + candidates[0].Actor.Name()
	}
	return fmt.Sprintf(" by one of %d who wrote it at that time", len(candidates))
}

// content reports whether that is the end of it: the workload is up to date, or nothing can be told.
func (x *Explanation) content(edge reloader.Edge) bool {
	switch {
	case edge.Handled.How == "" && edge.Pending == "":
		x.State = StateNoBaseline
		x.step(Step{Step: "Content", Result: stopped, Message: "To which content the workload was brought is not recorded yet."})
		return true
	case edge.Pending == "":
		x.State, x.Reason = StateUpToDate, Reason(edge.Handled.How)
		x.step(Step{
			Step: "Content", Result: stopped, Reason: Reason(edge.Handled.How), At: edge.Handled.At,
			Message: "The workload is at the newest content: it " + reloader.Reasons[edge.Handled.How] + ".",
		})
		return true
	}
	x.State = StatePending
	x.step(Step{Step: "Content", Result: passed, Change: edge.Pending, Message: "The workload is not at the newest content yet: it is to be rolled for this change."})
	return false
}

func (x *Explanation) brakes(e Evidence) {
	if hold := e.Workload.Hold; hold != nil {
		x.State, x.Reason = StateHeld, Reason(hold.Reason)
		message := "The workload " + reloader.Reasons[hold.Reason] + "."
		if hold.Message != "" {
			message += " " + hold.Message
		}
		x.step(Step{Step: "Brakes", Result: stopped, Reason: Reason(hold.Reason), Message: message, At: hold.Since})
	} else {
		x.step(Step{Step: "Brakes", Result: passed, Message: "Nothing holds the workload back but its quiet window."})
	}
	if e.Cluster == nil || e.Cluster.Status == nil {
		return
	}
	if health(e.Cluster, e.Now) == Away {
		x.step(Step{Step: "Brakes", Result: stopped, Message: problems(e.Cluster, e.Now)[0], At: e.Cluster.Status.At})
	}
	if e.Cluster.Status.DryRun {
		x.step(Step{Step: "Brakes", Result: noted, Reason: Reason(reloader.ReasonDryRun), Message: "This is a dry run: nothing is written to the cluster."})
	}
}

// outcome tells of the newest reload of the workload that the newest change caused.
func (x *Explanation) outcome(e Evidence) {
	var last *reloader.Reload
	for _, r := range e.Reloads {
		if r.Workload == e.Key.Workload && r.Cluster == e.Key.Cluster {
			last = r
		}
	}
	if last == nil {
		return
	}
	message := "For its newest change the workload " + reloader.Reasons[last.Outcome] + "."
	if last.Message != "" {
		message += " " + last.Message
	}
	x.step(Step{Step: "Outcome", Result: noted, Reason: Reason(last.Outcome), Message: message, Reload: last.ID, At: last.DecidedAt})
}
