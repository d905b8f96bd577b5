package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// rule gives a state to the cases that it judges.
type rule struct {
	state State
	judge func(Case) (Verdict, bool)
}

// rules are asked in this order: what makes the rest untrue comes first, then what needs somebody, then what waits.
var rules = []rule{
	{Unreachable, unreachable},
	{NotOptedIn, notOptedIn},
	{Failed, failed},
	{Invalid, invalid},
	{Unreadable, unreadable},
	{MissingConfig, missingConfig},
	{Stalled, stalled},
	{NotRolledOut, notRolledOut},
	{Frozen, frozen},
	{Held, held},
	{Pending, pending},
	{Rolling, rolling},
	{NotRolled, notRolled},
	{NoConfigs, noConfigs},
	{NoBaseline, noBaseline},
}

func unreachable(c Case) (Verdict, bool) {
	if c.Silence == 0 {
		return Verdict{}, false
	}
	known := "nothing is on record about this workload"
	if c.Record != nil {
		known = "what is on record of this workload is as of " + clock(c.Record.UpdatedAt)
	}
	return Verdict{
		Message: fmt.Sprintf("The dispatcher of cluster %s has published no status for %s; %s.", c.Cluster, c.Silence.Round(time.Second), known),
		Next:    "reroll doctor",
	}, true
}

// optIn is the annotation that opts a workload in to all that it refers to.
const optIn = "reloader.stakater.com/auto"

func notOptedIn(c Case) (Verdict, bool) {
	if c.Record != nil {
		return Verdict{}, false
	}
	return Verdict{
		Reason: reloader.ReasonNotOptedIn, Next: annotate(c.Workload, optIn+"=true"),
		Message: ref(c.Workload) + " is not opted in, or does not exist: Reroll has no record of it. To opt it in, annotate it.",
	}, true
}

func failed(c Case) (Verdict, bool) {
	h := c.Record.Hold
	if !h.DeadLetter() {
		return Verdict{}, false
	}
	return Verdict{
		Reason: h.Reason, Message: because("The workload "+reloader.Reasons[h.Reason], h.Message),
		Next: "reroll retry " + ref(c.Workload),
	}, true
}

func invalid(c Case) (Verdict, bool) {
	if len(c.Record.Problems) == 0 {
		return Verdict{}, false
	}
	first := c.Record.Problems[0]
	v := Verdict{Message: end(first)}
	switch {
	case len(c.Record.Edges) == 0:
		v.Message += " Nothing will roll."
	case len(c.Record.Problems) > 1:
		v.Message += fmt.Sprintf(" And %d more faults.", len(c.Record.Problems)-1)
	}
	v.Next = fmt.Sprintf("kubectl -n %s edit %s/%s", c.Workload.Namespace, lower(c.Workload.Kind), c.Workload.Name)
	if key, _, _ := strings.Cut(first, " "); strings.HasSuffix(first, `use "true" or "false"`) {
		v.Next = annotate(c.Workload, "--overwrite "+key+"=true")
	}
	return v, true
}

func unreadable(c Case) (Verdict, bool) {
	if len(c.Record.Unreadable) == 0 {
		return Verdict{}, false
	}
	u := c.Record.Unreadable[0]
	v := Verdict{Next: "reroll doctor --context CONTEXT --as system:serviceaccount:NAMESPACE:reroll"}
	switch {
	case u.Config == reloader.Config{}:
		v.Message = fmt.Sprintf("The configs of the workload cannot be read, so their changes go unnoticed: %s", end(u.Message))
	case u.Config.Cluster != "":
		v.Message, v.Next = fmt.Sprintf("%s, so its changes go unnoticed.", u.Message), "reroll clusters"
	default:
		v.Message = fmt.Sprintf("%s cannot be read, so its changes go unnoticed: %s", named(u.Config), end(u.Message))
	}
	if more := len(c.Record.Unreadable) - 1; more > 0 {
		v.Message += fmt.Sprintf(" And %d more.", more)
	}
	return v, true
}

func missingConfig(c Case) (Verdict, bool) {
	waits := c.Record.Hold != nil && c.Record.Hold.Reason == reloader.ReasonMissingConfig
	if len(c.Record.Missing) == 0 {
		if waits {
			return Verdict{Reason: reloader.ReasonMissingConfig, Message: because("The workload waits", c.Record.Hold.Message)}, true
		}
		return Verdict{}, false
	}
	m := c.Record.Missing[0]
	var v Verdict
	if waits {
		v.Reason = reloader.ReasonMissingConfig
	}
	if len(m.Keys) > 0 {
		v.Message = fmt.Sprintf("%s has no key %q.", named(m.Config), m.Keys[0])
		v.Next = fmt.Sprintf("kubectl -n %s edit %s/%s", m.Config.Namespace, lower(string(m.Config.Kind)), m.Config.Name)
	} else {
		v.Message = named(m.Config) + " does not exist."
		v.Next = fmt.Sprintf("kubectl -n %s get %s", m.Config.Namespace, lower(string(m.Config.Kind)))
	}
	if m.Config.Namespace != c.Workload.Namespace {
		v.Message = fmt.Sprintf("%s does not exist, or is not shared with namespace %s.", named(m.Config), c.Workload.Namespace)
		v.Next = fmt.Sprintf("kubectl -n %s annotate %s/%s reroll.dev/share-with=%s", m.Config.Namespace, lower(string(m.Config.Kind)), m.Config.Name, c.Workload.Namespace)
	}
	switch {
	case m.Meant != "":
		v.Message += " Did you mean " + m.Meant + "?"
		v.Next = fmt.Sprintf("kubectl -n %s edit %s/%s", c.Workload.Namespace, lower(c.Workload.Kind), c.Workload.Name)
	case m.Required:
		v.Message += " No pod of the workload starts without it."
	default:
		v.Message += " Nothing will roll for it."
	}
	if more := len(c.Record.Missing) - 1; more > 0 {
		v.Message += fmt.Sprintf(" And %d more are missing.", more)
	}
	return v, true
}

func stalled(c Case) (Verdict, bool) {
	r := c.Record.Rollout
	if r == nil || r.Result != reloader.ReasonStalled {
		return Verdict{}, false
	}
	next := fmt.Sprintf("kubectl -n %s describe %s/%s", c.Workload.Namespace, lower(c.Workload.Kind), c.Workload.Name)
	message := because("The workload was marked at "+clock(r.StartedAt)+", and pods still run with the old content", r.Message)
	return Verdict{Reason: r.Result, Message: message, Next: next}, true
}

func notRolledOut(c Case) (Verdict, bool) {
	r := c.Record.Rollout
	if r == nil || r.Result != reloader.ReasonWaitingForOperator {
		return Verdict{}, false
	}
	next, stale := remedy(c.Workload, r.Message)
	if !stale {
		return Verdict{}, false
	}
	return Verdict{
		Reason: r.Result, Message: because("The workload was marked at "+clock(r.StartedAt)+" and is not rolled out", r.Message), Next: next,
	}, true
}

func frozen(c Case) (Verdict, bool) {
	h := c.Record.Hold
	if h == nil || h.Reason != reloader.ReasonFrozen {
		if f, on := c.freeze(); !on || !c.waits() {
			return Verdict{}, false
		} else if h == nil {
			h = &reloader.Hold{Reason: reloader.ReasonFrozen, Message: f.Reason, Due: f.Until}
		} else {
			return Verdict{}, false
		}
	}
	f, _ := c.freeze()
	return Verdict{Reason: h.Reason, Message: "All reloads are frozen" + terms(h.Message, f.By, f.Since, h.Due) + ".", Next: "reroll thaw"}, true
}

// freeze returns the freeze of the cluster, if one is on.
func (c Case) freeze() (reloader.Freeze, bool) {
	if c.Status == nil {
		return reloader.Freeze{}, false
	}
	f := c.Status.Freeze
	return f, f.Frozen && (f.Until.IsZero() || f.Until.After(c.Now))
}

func (c Case) waits() bool {
	return slices.ContainsFunc(c.Record.Edges, func(e reloader.Edge) bool { return e.Pending != "" })
}

func held(c Case) (Verdict, bool) {
	h := c.Record.Hold
	if h == nil {
		return Verdict{}, false
	}
	v := Verdict{Reason: h.Reason, Message: because("The workload "+reloader.Reasons[h.Reason], h.Message), Next: "wait"}
	if !h.Due.IsZero() {
		v.Next = "wait until " + clock(h.Due)
	}
	switch h.Reason {
	case reloader.ReasonPausedByOperator:
		v.Next = "reroll resume " + c.pause()
	case reloader.ReasonOutsideWindow:
		if h.Due.IsZero() {
			v.Message = because("The workload is held back: no maintenance window ever opens", h.Message)
		} else {
			v.Message = "The workload " + reloader.Reasons[h.Reason] + "; the next one opens at " + clock(h.Due) + "."
		}
		v.Next = "reroll reload " + ref(c.Workload)
	case reloader.ReasonFlapping:
		v.Next = "reroll reloads -n " + c.Workload.Namespace
	case reloader.ReasonHalted, reloader.ReasonWaitingForStep:
		v.Next = "reroll status"
	}
	return v, true
}

// pause returns the flags that name the pause of the workload: that of its namespace, unless the cluster has another one that applies.
func (c Case) pause() string {
	flags := "-n " + c.Workload.Namespace
	if c.Status == nil {
		return flags
	}
	applies := func(p reloader.Pause) bool {
		return (p.Namespace == "" || p.Namespace == c.Workload.Namespace) && p.Until.After(c.Now)
	}
	i := slices.IndexFunc(c.Status.Pauses, applies)
	if i < 0 {
		return flags
	}
	p := c.Status.Pauses[i]
	if p.Namespace == "" {
		flags = "-A"
	}
	if p.Selector != "" {
		flags += fmt.Sprintf(" -l %q", p.Selector)
	}
	return flags
}

func pending(c Case) (Verdict, bool) {
	if !c.waits() {
		return Verdict{}, false
	}
	return Verdict{Message: "A change waits for the debounce window to pass.", Next: "wait some seconds"}, true
}

func rolling(c Case) (Verdict, bool) {
	r := c.Record.Rollout
	if r == nil || r.Result != reloader.ReasonRolling {
		return Verdict{}, false
	}
	return Verdict{
		Reason: r.Result, Message: "The workload is rolling out since " + clock(r.StartedAt) + ".",
		Next: status(c.Workload),
	}, true
}

func notRolled(c Case) (Verdict, bool) {
	next := map[reloader.Reason]string{
		reloader.ReasonDryRun:   "end the dry run: helm upgrade … --set dryRun=false, or without --dry-run",
		reloader.ReasonNotified: "check what received the webhook",
	}
	i := slices.IndexFunc(c.Record.Edges, func(e reloader.Edge) bool { return next[e.Handled.How] != "" })
	if i < 0 {
		return Verdict{}, false
	}
	e := c.Record.Edges[i]
	message := fmt.Sprintf("The last change rolled nothing: the workload %s (%s, %s).", reloader.Reasons[e.Handled.How], named(e.Config), clock(e.Handled.At))
	return Verdict{Reason: e.Handled.How, Message: message, Next: next[e.Handled.How]}, true
}

func noConfigs(c Case) (Verdict, bool) {
	if len(c.Record.Edges) > 0 {
		return Verdict{}, false
	}
	return Verdict{
		Message: "The workload is opted in, and its annotations ask for no ConfigMap or Secret: its pod template refers to none that counts, or all are excluded.",
		Next:    fmt.Sprintf("kubectl -n %s get %s/%s -o yaml", c.Workload.Namespace, lower(c.Workload.Kind), c.Workload.Name),
	}, true
}

func noBaseline(c Case) (Verdict, bool) {
	if !slices.ContainsFunc(c.Record.Edges, func(e reloader.Edge) bool { return e.Handled.How == "" }) {
		return Verdict{}, false
	}
	return Verdict{Message: "Reroll has not recorded yet which content this workload runs with.", Next: "wait some seconds; if it lasts: reroll doctor"}, true
}

// current are the reasons for which a workload runs with the newest content.
var current = []reloader.Reason{reloader.ReasonReloaded, reloader.ReasonAlreadyCurrent, reloader.ReasonPodsNewer, reloader.ReasonReverted, reloader.ReasonRolledOut}

// upToDate says which content the workload runs with, and how that is known.
func upToDate(c Case) Verdict {
	newest := slices.MaxFunc(c.Record.Edges, func(a, b reloader.Edge) int { return a.Handled.At.Compare(b.Handled.At) })
	v := Verdict{State: UpToDate, Reason: newest.Handled.How}
	v.Message = fmt.Sprintf("The workload runs with the newest content: it %s (%s, %s).", reloader.Reasons[newest.Handled.How], named(newest.Config), clock(newest.Handled.At))
	switch {
	case newest.Handled.How == reloader.ReasonBaseline:
		v.Message = fmt.Sprintf("Nothing has changed since Reroll first saw it: %s, %s.", named(newest.Config), clock(newest.Handled.At))
	case newest.Handled.How == reloader.ReasonReloaded:
		v.Message = fmt.Sprintf("The workload runs with the newest content. It last rolled for %s, at %s.", named(newest.Config), clock(newest.Handled.At))
	case !slices.Contains(current, newest.Handled.How):
		v.Message = fmt.Sprintf("The last change rolled nothing: the workload %s (%s, %s).", reloader.Reasons[newest.Handled.How], named(newest.Config), clock(newest.Handled.At))
	}
	if f, on := c.freeze(); on {
		v.Message += " All reloads are frozen" + terms(f.Reason, f.By, f.Since, f.Until) + ", so the next change waits."
		v.Next = "reroll thaw"
	}
	return v
}

// terms says why, by whom and until when.
func terms(reason, by string, since, until time.Time) string {
	text := ""
	if reason != "" {
		text += fmt.Sprintf(" (%q)", reason)
	}
	if by != "" {
		text += " by " + by
	}
	if !since.IsZero() {
		text += " since " + clock(since)
	}
	if until.IsZero() {
		return text + " until somebody thaws them"
	}
	return text + " until " + clock(until)
}

// ref names a workload as the commands of reroll take it.
func ref(w reloader.WorkloadRef) string { return w.Namespace + "/" + w.Kind + "/" + w.Name }

// named names a config as sentences do.
func named(c reloader.Config) string {
	text := string(c.Kind) + " " + c.Namespace + "/" + c.Name
	if c.Cluster != "" {
		text += " of cluster " + c.Cluster
	}
	return text
}

// clock shows a time as the sentences of this package do.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// annotate returns the command that annotates a workload.
func annotate(w reloader.WorkloadRef, what string) string {
	return fmt.Sprintf("kubectl -n %s annotate %s/%s %s", w.Namespace, lower(w.Kind), w.Name, what)
}

// because joins what is so and why.
func because(text, why string) string {
	if why == "" {
		return end(text)
	}
	return text + ": " + end(why)
}

// end ends a sentence, unless it has ended.
func end(text string) string {
	if strings.HasSuffix(text, "?") {
		return text
	}
	return strings.TrimRight(text, ".") + "."
}

func lower(kind string) string { return strings.ToLower(kind) }
