package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// Explained is how a workload stands, and how it stands to each of its configs.
type Explained struct {
	Verdict Verdict `json:"verdict" doc:"How the workload stands."`
	List[Explanation]
}

// Explanation says how a workload stands to a config, and by which steps that is known.
type Explanation struct {
	Cluster  string      `json:"cluster" doc:"The workload's cluster."`
	Workload WorkloadRef `json:"workload" doc:"The workload."`
	Config   Config      `json:"config" doc:"The config."`
	Verdict
	Steps []Step `json:"steps" nullable:"false" doc:"How that is known, in the order in which it is decided."`
}

// Step is one thing that was looked at.
type Step struct {
	Step    string    `json:"step" enum:"OptIn,Rule,Use,Change,Content,Brakes,Outcome" doc:"What was looked at: whether the workload is opted in; which annotation asks for the config; how the pod template uses it; its newest change; to which content the workload was brought; what holds the workload back; what became of the change."`
	Result  string    `json:"result" enum:"Passed,Stopped,Noted" doc:"Passed: it is as it should be. Stopped: this is why nothing rolls, or what is waited for. Noted: good to know."`
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

// Verdict says how the workload stands, whatever the config.
func (e Evidence) Verdict() Verdict { return FromVerdict(verdict.Judge(e.judged())) }

func (e Evidence) judged() verdict.Case {
	return caseOf(e.Key.Cluster, e.Key.Workload, e.Workload, e.Cluster, e.Now)
}

// forLast reports whether the last reload of the workload was for the newest change of the config.
func (e Evidence) forLast() bool {
	return slices.ContainsFunc(e.Reloads, func(r *reloader.Reload) bool { return r.ID == e.Workload.LastReload && r.Workload == e.Key.Workload })
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
		x.isNone("The workload " + reloader.Reasons[edge.Why] + ".")
		return x
	}
	x.Verdict = FromVerdict(verdict.Judge(e.judged().About(edge, e.forLast())))
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
		x.Verdict = e.Verdict()
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
	const none = "No annotation of the workload asks for this config: it is neither named nor referenced, or it is excluded, ignored, or in another namespace."
	x.isNone(none)
	x.step(Step{Step: "Rule", Result: stopped, Message: none})
	return reloader.Edge{}, false
}

// isNone says that the config is none of those that the workload asks for.
func (x *Explanation) isNone(message string) {
	x.Verdict = Verdict{State: State(verdict.NotADependency), Message: message}
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
	if edge.Pending != "" {
		x.step(Step{Step: "Content", Result: stopped, Change: edge.Pending, Message: "The workload runs with older content and waits to be rolled for this change."})
		return false
	}
	s := Step{Step: "Content", Result: stopped, Message: x.Message}
	switch verdict.State(x.State) {
	case verdict.Rolling:
		s.Result = noted
	case verdict.UpToDate:
		s = Step{
			Step: "Content", Result: passed, Reason: Reason(edge.Handled.How), At: edge.Handled.At,
			Message: "The workload runs with the newest content: it " + reloader.Reasons[edge.Handled.How] + ".",
		}
	}
	x.step(s)
	return true
}

func (x *Explanation) brakes(e Evidence) {
	if hold := e.Workload.Hold; hold != nil {
		message := "The workload " + reloader.Reasons[hold.Reason] + "."
		if hold.Message != "" {
			message += " " + hold.Message
		}
		x.step(Step{Step: "Brakes", Result: stopped, Reason: Reason(hold.Reason), Message: message, At: hold.Since})
	} else {
		x.step(Step{Step: "Brakes", Result: passed, Message: "Nothing holds the workload back but its debounce window."})
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
	if last == nil || x.Reason == Reason(last.Outcome) && last.Message == "" { // the verdict has said so
		return
	}
	message := "For its newest change the workload " + reloader.Reasons[last.Outcome] + "."
	if last.Message != "" {
		message += " " + last.Message
	}
	x.step(Step{Step: "Outcome", Result: noted, Reason: Reason(last.Outcome), Message: message, Reload: last.ID, At: last.DecidedAt})
}
