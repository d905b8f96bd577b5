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

// Explained is a workload, and how it stands to each of its configs.
type Explained struct {
	Workload
	Explanations []Explanation `json:"explanations" nullable:"false" doc:"For each of its configs, or those of the filter, why it does or does not roll."`
	Warnings     []string      `json:"warnings" nullable:"false" doc:"What the answer may be missing. Empty means that it is complete."`
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
	Step     string    `json:"step" enum:"OptIn,Rule,Use,Change,Content,Brakes,Outcome" doc:"What was looked at: whether the workload is opted in; which annotation asks for the config; how the pod template uses it; its newest change; to which content the workload was brought; what holds the workload back; what became of the change."`
	Question string    `json:"question" doc:"What was looked at, as a question."`
	Answer   string    `json:"answer" enum:"Yes,No,Waiting" doc:"The answer to the question. Waiting: not yet."`
	Result   string    `json:"result" enum:"Passed,Stopped,Noted" doc:"Passed: it is as it should be. Stopped: this is why nothing rolls, or what is waited for. Noted: good to know."`
	Reason   Reason    `json:"reason,omitempty" doc:"The reason, if one of the closed list says it."`
	Clause   string    `json:"clause,omitempty" doc:"The annotation that decided."`
	Message  string    `json:"message" doc:"The same for people."`
	Change   string    `json:"change,omitempty" doc:"The ID of the change that the step is about."`
	Reload   string    `json:"reload,omitempty" doc:"The ID of the reload that the step is about."`
	At       time.Time `json:"at,omitzero" doc:"When it was so."`
}

// The results of a step.
const (
	passed  = "Passed"
	stopped = "Stopped"
	noted   = "Noted"
)

// The answers of a step.
const (
	yes     = "Yes"
	no      = "No"
	waiting = "Waiting"
)

// questions are what the steps ask. The good answer is yes.
var questions = map[string]string{
	"OptIn":   "Is it opted in?",
	"Rule":    "Does it ask for the config?",
	"Use":     "Does its pod template use the config?",
	"Change":  "Has the config changed?",
	"Content": "Does it run with the newest content?",
	"Brakes":  "Is it free to roll?",
	"Outcome": "Did it roll for the newest change?",
}

// Evidence is what an explanation is made of.
type Evidence struct {
	Key      projection.WorkloadKey
	Config   reloader.Config
	Workload *reloader.WorkloadRecord
	// ConfigState and Cluster are nil if nothing is on record.
	ConfigState *projection.ConfigState
	Cluster     *projection.ClusterState
	// Reloads are those that the newest change of the config caused.
	Reloads []*reloader.Reload
	Now     time.Time
}

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
	if edge.Why == reloader.ReasonNotShared {
		x.isNone(e, edge.Why, edge.Clause)
		return x
	}
	x.rule(edge)
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

// step adds a step. What passed is a yes unless the step says otherwise, and what did not is a no.
func (x *Explanation) step(s Step) {
	s.Question = questions[s.Step]
	switch {
	case s.Answer != "":
	case s.Result == passed:
		s.Answer = yes
	default:
		s.Answer = no
	}
	x.Steps = append(x.Steps, s)
}

// optIn returns the edge, if the workload has one.
func (x *Explanation) optIn(e Evidence) (reloader.Edge, bool) {
	message := "Its annotations are those of " + e.Workload.Dialect + "."
	if len(e.Workload.Problems) > 0 {
		message += " They have faults: " + strings.Join(e.Workload.Problems, "; ") + "."
	}
	x.step(Step{Step: "OptIn", Result: passed, Message: message, At: e.Workload.UpdatedAt})
	for _, edge := range e.Workload.Edges {
		if edge.Config == e.Config {
			return edge, true
		}
	}
	x.isNone(e, "", "")
	return reloader.Edge{}, false
}

// isNone says that the workload does not depend on the config.
func (x *Explanation) isNone(e Evidence, why reloader.Reason, clause string) {
	x.Verdict = FromVerdict(e.judged().NoDependency(e.Config, why))
	x.step(Step{Step: "Rule", Result: stopped, Reason: Reason(why), Clause: clause, Message: x.Message})
}

func (x *Explanation) rule(edge reloader.Edge) {
	x.step(Step{Step: "Rule", Result: passed, Reason: Reason(edge.Why), Clause: edge.Clause, Message: it(edge.Why)})
	if len(edge.Uses) == 0 {
		x.step(Step{Step: "Use", Result: noted, Message: "The annotation alone asks for it."})
		return
	}
	var uses []string
	for _, u := range edge.Uses {
		uses = append(uses, sayUse(u))
	}
	x.step(Step{Step: "Use", Result: passed, Message: "As " + strings.Join(uses, ", ") + "."})
}

// it says what a reason means, of the workload.
func it(r reloader.Reason) string { return "It " + reloader.Reasons[r] + "." }

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
		x.step(Step{Step: "Change", Result: noted, Message: "No change of it is on record."})
		return
	}
	c := e.ConfigState.Latest
	s := Step{Step: "Change", Result: noted, Message: "Not since it was first seen.", Change: c.ID, At: c.VerifiedAt}
	if c.Type != reloader.ChangeBaseline {
		s.Result, s.Message = passed, fmt.Sprintf("It was last %s%s.", strings.ToLower(string(c.Type)), sayWho(c.Candidates))
	}
	x.step(s)
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
		x.step(Step{Step: "Content", Result: stopped, Answer: waiting, Change: edge.Pending, Message: "It waits to be rolled for this change."})
		return false
	}
	s := Step{Step: "Content", Result: stopped, Message: x.Message}
	switch verdict.State(x.State) {
	case verdict.Rolling:
		s.Result, s.Answer = noted, waiting
	case verdict.NoBaseline:
		s.Answer = waiting
	case verdict.UpToDate, verdict.NotRolled:
		s = Step{Step: "Content", Result: noted, Reason: Reason(edge.Handled.How), At: edge.Handled.At, Message: it(edge.Handled.How)}
		if slices.Contains(verdict.Newest, edge.Handled.How) {
			s.Result = passed
		}
	}
	x.step(s)
	return true
}

func (x *Explanation) brakes(e Evidence) {
	hold := e.Workload.Hold
	if hold != nil {
		s := Step{Step: "Brakes", Result: stopped, Answer: waiting, Reason: Reason(hold.Reason), Message: verdict.OfHold(hold), At: hold.Since}
		if hold.DeadLetter() {
			s.Answer = no
		}
		x.step(s)
	} else {
		x.step(Step{Step: "Brakes", Result: passed, Message: verdict.OfHold(nil)})
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

// outcome tells of the newest reload of the workload that the newest change caused. What a step before has said is not said again.
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
	before := &x.Steps[len(x.Steps)-1]
	if before.Reason != Reason(last.Outcome) {
		s := Step{Step: "Outcome", Result: noted, Reason: Reason(last.Outcome), Message: it(last.Outcome), At: last.DecidedAt}
		if last.Outcome == reloader.ReasonReloaded {
			s.Answer = yes
		}
		x.step(s)
		before = &x.Steps[len(x.Steps)-1]
	}
	before.Reload = last.ID
	if last.Message != "" && !strings.Contains(before.Message, last.Message) {
		before.Message += " " + last.Message
	}
}
