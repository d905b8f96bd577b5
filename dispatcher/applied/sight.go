package applied

import (
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Need is evidence that a decision asks for. It costs requests, so it is read only when asked for.
type Need string

// The needs.
const (
	NeedContent  Need = "content"
	NeedPods     Need = "pods"
	NeedMarks    Need = "marks"
	NeedTemplate Need = "template"
	NeedLooks    Need = "looks"
)

// MarkSays is what the mark of a tool for a config says, or the tool's own memory.
type MarkSays string

// The answers. The zero MarkSays is a question not asked yet.
const (
	MarkNone MarkSays = "none"
	// MarkEqual is the mark of the live content, and MarkDiffers is one that proves other content.
	MarkEqual   MarkSays = "equal"
	MarkDiffers MarkSays = "differs"
)

// First is what is known about a workload and a config that it meets for the first time.
type First struct {
	// Written is when the workload was last written, without its subresources; zero if unknown.
	Written time.Time
	// Born is when the ledger was born: content of before is what the workload runs with. For `migrate` it is now.
	Born time.Time
	// Listed is that of State if only a pattern wants the config; zero otherwise.
	Listed time.Time
	// Taken says that something was removed from the config after Written: a hint reports a write, the config's version is higher than
	// the workload's, and no field was given a value since.
	Taken bool
	// Joined says that the workload was known before Written, so that it has begun to ask for the config then.
	Joined bool
	// Required says that no container of the workload starts without the config.
	Required bool
	Mark     MarkSays
}

// Finding is the answer of Sight: evidence that it needs, or a change that the workload has missed, or the reason why the live write
// is taken for what the workload runs with.
type Finding struct {
	Rule   string
	Need   Need
	Missed bool
	Reason reloader.Reason
}

// Sighting is a config that a workload meets for the first time.
type Sighting struct {
	Config   reloader.Config
	Live     Live
	Counting Counting
	First    First
	Pods     *workload.Pods
}

// Rule is one rule. If reports false where the next rule must be asked.
type Rule[Case, Answer any] struct {
	Name string
	// Says is the rule in a sentence, for ARCHITECTURE.md.
	Says string
	If   func(Case) (Answer, bool)
}

// SightRules are the rules of first sight, in order. If none answers, the live write is the baseline.
var SightRules = []Rule[Sighting, Finding]{
	{"unproven", "Nothing proves which content is current, as for a SecretProviderClass without pods: take the baseline.", unproven},
	{"absent", "The config does not exist: take the baseline.", absent},
	{"unread", "The content is unknown: read it.", unread},
	{"mark", "The mark of a tool proves which content the workload rolled for. If the live content differs, the workload missed a change.", marked},
	{"foreign", "The config is in another cluster, whose clock can differ: take the baseline.", foreign},
	{"appearedSinceListed", "The config was created after Reroll evaluated the workload's patterns, and creations count: the workload missed a change.", appearedSinceListed},
	{"writtenSince", "Data was written after the opt-in, and a pod is older: the workload missed a change.", writtenSince},
	{"takenSince", "A key was removed after the opt-in, and a pod is older: the workload missed a change.", takenSince},
	{"madeAnew", "The config was created after the opt-in, and a pod is older. The workload missed a change, if creations count or no pod starts without the config.", madeAnew},
}

// Sight judges a config that a workload meets for the first time. The dispatcher and `migrate` both call it.
func Sight(s Sighting) Finding {
	for _, r := range SightRules {
		if f, ok := r.If(s); ok {
			f.Rule = r.Name
			return f
		}
	}
	return Finding{Rule: "baseline", Reason: reloader.ReasonBaseline}
}

var missed = Finding{Missed: true}

func unproven(s Sighting) (Finding, bool) {
	return Finding{Reason: reloader.ReasonBaseline}, s.Live.Unproven
}

func absent(s Sighting) (Finding, bool) {
	return Finding{Reason: reloader.ReasonBaseline}, !s.Live.Unread && s.Live.Absent()
}

func unread(s Sighting) (Finding, bool) { return Finding{Need: NeedContent}, s.Live.Unread }

func marked(s Sighting) (Finding, bool) {
	switch s.First.Mark {
	case "":
		return Finding{Need: NeedMarks}, true
	case MarkEqual:
		return Finding{Reason: reloader.ReasonAlreadyCurrent}, true
	case MarkDiffers:
		return missed, true
	}
	return Finding{}, false
}

func foreign(s Sighting) (Finding, bool) {
	return Finding{Reason: reloader.ReasonBaseline}, s.Config.Cluster != ""
}

func appearedSinceListed(s Sighting) (Finding, bool) {
	return missed, s.Counting.Creation && notBefore(s.Live.Created, s.First.Listed)
}

func writtenSince(s Sighting) (Finding, bool) {
	if !s.Live.Edited() || !s.since(s.Live.DataWritten) {
		return Finding{}, false
	}
	return s.older(s.Live.DataWritten)
}

func takenSince(s Sighting) (Finding, bool) {
	if !s.First.Taken || !s.since(s.Live.Touched) {
		return Finding{}, false
	}
	return s.older(s.Live.Touched)
}

// madeAnew does not count a pod that started in the second of the config's creation: usually both come from one apply, the config first.
func madeAnew(s Sighting) (Finding, bool) {
	created := s.Live.Created
	switch {
	case !s.since(created), !s.First.Required && !s.Counting.Creation:
		return Finding{}, false
	case s.First.Joined && !s.First.Required && second(created).Equal(second(s.First.Written)):
		return Finding{}, false // one apply makes a config and names it
	}
	return s.older(second(created).Add(-time.Second))
}

// since reports whether t is after the workload opted in and after the ledger was born, as far as whole seconds can tell.
func (s Sighting) since(t time.Time) bool {
	return notBefore(t, s.First.Written) && notBefore(t, s.First.Born)
}

// older finds that a change at t was missed if a pod is older.
func (s Sighting) older(t time.Time) (Finding, bool) {
	if s.Pods == nil {
		return Finding{Need: NeedPods}, true
	}
	return missed, OneStartedBy(*s.Pods, t)
}

// Edited reports whether data of l was certainly written after the object was made.
func (l Live) Edited() bool {
	return !l.Created.IsZero() && second(l.DataWritten).After(second(l.Created))
}
