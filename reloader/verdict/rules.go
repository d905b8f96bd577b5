package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// rule gives a state to the cases that it judges.
type rule struct {
	state State
	judge func(Case) (Verdict, bool)
}

// rules are asked in this order: first those that make the rest untrue, then those that need a user, then waits.
var rules = []rule{
	{Unreachable, unreachable},
	{NotOptedIn, notOptedIn},
	{Failed, failed},
	{Invalid, invalid},
	{Unreadable, unreadable},
	{MissingConfig, missingConfig},
	{Stalled, stalled},
	{NotRolledOut, notRolledOut},
	{NotRolledOut, undone},
	{Frozen, frozen},
	{Held, held},
	{Pending, pending},
	{Rolling, rolling},
	{NotRolled, notRolled},
	{NoConfigs, noConfigs},
	{NoBaseline, noBaseline},
}

func unreachable(c Case) (Verdict, bool) {
	if c.Status == nil || silence(c.Status, c.Now) == 0 {
		return Verdict{}, false
	}
	known := "nothing is on record about this workload"
	if c.Record != nil {
		known = "the record of this workload is as of " + clock(c.Record.UpdatedAt)
	}
	return Verdict{
		Message: fmt.Sprintf("The dispatcher of cluster %s has published no status for %s; %s.", c.Cluster, silence(c.Status, c.Now).Round(time.Second), known),
		Next:    "reroll check",
	}, true
}

func notOptedIn(c Case) (Verdict, bool) {
	if c.Record != nil {
		return Verdict{}, false
	}
	v := Verdict{Reason: reloader.ReasonNotOptedIn, Next: kubectl(c.Workload, "annotate") + " reroll.dev/auto=true"}
	switch live := c.Live; {
	case live == nil:
		v.Message = ref(c.Workload) + " is not opted in, or does not exist: Reroll has no record of it. To opt it in, annotate it."
	case live.Lacking != "":
		v.Message = strings.ToUpper(live.Lacking[:1]) + end(live.Lacking[1:])
		v.Next = fmt.Sprintf("kubectl get %s -A", lower(c.Workload.Kind))
	case live.Typo != "":
		v.Message = ref(c.Workload) + " exists, and is not opted in. " + end(live.Typo)
	case live.Asks:
		v.Message = ref(c.Workload) + " exists and asks for configs, and Reroll has no record of it: its namespace or kind is left out, or it was annotated a moment ago."
		v.Next = "reroll check"
	default:
		v.Message = ref(c.Workload) + " exists, and is not opted in."
	}
	return v, true
}

func failed(c Case) (Verdict, bool) {
	h := c.Record.Hold
	if !h.DeadLetter() {
		return Verdict{}, false
	}
	return Verdict{Reason: h.Reason, Message: ofHold(h), Next: c.next(h.Reason)}, true
}

func invalid(c Case) (Verdict, bool) {
	if len(c.Record.Problems) == 0 {
		return Verdict{}, false
	}
	first := c.Record.Problems[0]
	v := Verdict{Message: end(first) + more(len(c.Record.Problems), " faults"), Next: kubectl(c.Workload, "edit")}
	if len(c.Record.Edges) == 0 {
		v.Message = end(first) + " Nothing will roll."
	}
	if key, _, _ := strings.Cut(first, " "); strings.HasSuffix(first, `use "true" or "false"`) {
		v.Next = kubectl(c.Workload, "annotate") + " --overwrite " + key + "=true"
	}
	return v, true
}

func unreadable(c Case) (Verdict, bool) {
	if len(c.Record.Unreadable) == 0 {
		return Verdict{}, false
	}
	u := c.Record.Unreadable[0]
	v := Verdict{Next: "reroll check"}
	switch {
	case u.Config == reloader.Config{}:
		v.Message = fmt.Sprintf("The configs of the workload cannot be read, so their changes go unnoticed: %s", end(u.Message))
	case u.Config.Cluster != "":
		v.Message, v.Next = fmt.Sprintf("%s, so its changes go unnoticed.", u.Message), "reroll get clusters"
	default:
		v.Message = fmt.Sprintf("%s cannot be read, so its changes go unnoticed: %s", named(u.Config), end(u.Message))
	}
	v.Message += more(len(c.Record.Unreadable), "")
	return v, true
}

func missingConfig(c Case) (Verdict, bool) {
	var v Verdict
	if h := c.Record.Hold; h != nil && h.Reason == reloader.ReasonMissingConfig {
		v.Reason, v.Message = h.Reason, because("The workload waits", h.Message)
	}
	if len(c.Record.Missing) == 0 {
		return v, v.Reason != ""
	}
	m := c.Record.Missing[0]
	config := lower(string(m.Config.Kind))
	switch {
	case m.Pattern != "":
		v.Message = fmt.Sprintf("Pattern %q of %s matches no %s in %s.", m.Pattern, m.Clause, m.Config.Kind, m.Config.Namespace)
		v.Next = kubectl(c.Workload, "edit")
	case m.Config.Namespace != c.Workload.Namespace:
		v.Message = fmt.Sprintf("%s does not exist, or is not shared with namespace %s.", named(m.Config), c.Workload.Namespace)
		v.Next = fmt.Sprintf("kubectl -n %s annotate %s/%s reroll.dev/share-with=%s", m.Config.Namespace, config, m.Config.Name, c.Workload.Namespace)
	case len(m.Keys) > 0:
		v.Message = fmt.Sprintf("%s has no key %q.", named(m.Config), m.Keys[0])
		v.Next = fmt.Sprintf("kubectl -n %s edit %s/%s", m.Config.Namespace, config, m.Config.Name)
	default:
		v.Message = named(m.Config) + " does not exist."
		v.Next = fmt.Sprintf("kubectl -n %s get %s", m.Config.Namespace, config)
	}
	switch {
	case m.Meant != "":
		v.Message += " Did you mean " + m.Meant + "?"
		v.Next = kubectl(c.Workload, "edit")
	case m.Required:
		v.Message += " No pod of the workload starts without it."
	default:
		v.Message += " Nothing will roll for it."
	}
	v.Message += more(len(c.Record.Missing), " are missing")
	return v, true
}

func frozen(c Case) (Verdict, bool) {
	h := c.Record.Hold
	f, on := c.freeze()
	switch {
	case h != nil && h.Reason == reloader.ReasonFrozen:
		f.Reason, f.Until = h.Message, h.Due
	case h != nil || !on || !c.waits():
		return Verdict{}, false
	}
	v := Verdict{Reason: reloader.ReasonFrozen}
	v.Message, v.Next = c.thaw(f)
	return v, true
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
		h = c.brake()
	}
	if h == nil {
		return Verdict{}, false
	}
	return Verdict{Reason: h.Reason, Message: ofHold(h), Next: c.next(h.Reason)}, true
}

// brake returns what holds back all workloads of the namespace or of the cluster that wait, before the record of the workload says so: a pause that
// selects no labels, or the maintenance windows. It is nil if nothing does.
func (c Case) brake() *reloader.Hold {
	if c.Status == nil || !c.waits() {
		return nil
	}
	hold := &reloader.Hold{}
	for _, p := range c.Status.Pauses {
		if p.Selector == "" && (p.Namespace == "" || p.Namespace == c.Workload.Namespace) && p.Until.After(c.Now) && p.Until.After(hold.Due) {
			*hold = reloader.Hold{Reason: reloader.ReasonPausedByOperator, Message: p.Reason, Due: p.Until}
		}
	}
	if hold.Reason != "" {
		return hold
	}
	for _, w := range c.Status.Windows {
		if w.Open {
			return nil
		}
		hold.Reason = reloader.ReasonOutsideWindow
		if hold.Due.IsZero() || !w.Next.IsZero() && w.Next.Before(hold.Due) {
			hold.Due = w.Next
		}
	}
	if hold.Reason == "" {
		return nil
	}
	return hold
}

func pending(c Case) (Verdict, bool) { return Verdict{Message: waitsForWindow}, c.waits() }

func notRolled(c Case) (Verdict, bool) {
	i := slices.IndexFunc(c.Record.Edges, func(e reloader.Edge) bool {
		return e.Handled.How == reloader.ReasonDryRun || e.Handled.How == reloader.ReasonNotified
	})
	if i < 0 {
		return Verdict{}, false
	}
	e := c.Record.Edges[i]
	return Verdict{Reason: e.Handled.How, Message: rolledNothing(e)}, true
}

func rolledNothing(e reloader.Edge) string {
	text := fmt.Sprintf("The last change rolled nothing: the workload %s (%s, %s).", e.Handled.How.Says(), named(e.Config), clock(e.Handled.At))
	return strings.TrimSpace(text + " " + e.Handled.How.Advice())
}

func noConfigs(c Case) (Verdict, bool) {
	return Verdict{
		Message: "The workload is opted in, but its annotations ask for no ConfigMap or Secret: its pod template refers to none, all are excluded, or no name matches.",
		Next:    kubectl(c.Workload, "get") + " -o yaml",
	}, len(c.Record.Edges) == 0
}

func noBaseline(c Case) (Verdict, bool) {
	return Verdict{Message: "Reroll has not recorded yet which content this workload runs with. That takes some seconds.", Next: "reroll check"},
		slices.ContainsFunc(c.Record.Edges, func(e reloader.Edge) bool { return e.Handled.How == "" })
}

// Newest are the reasons of a workload that runs with the newest content. Other reasons say why it need not.
var Newest = []reloader.Reason{
	reloader.ReasonBaseline, reloader.ReasonReloaded, reloader.ReasonAlreadyCurrent, reloader.ReasonPodsNewer, reloader.ReasonReverted, reloader.ReasonRolledOut,
}

// upToDate says which content the workload runs with, and how that is known.
func upToDate(c Case) Verdict {
	newest := slices.MaxFunc(c.Record.Edges, func(a, b reloader.Edge) int { return a.Handled.At.Compare(b.Handled.At) })
	how, config, at := newest.Handled.How, named(newest.Config), clock(newest.Handled.At)
	v := Verdict{State: UpToDate, Reason: how}
	switch rollout := c.Record.Rollout; {
	case rollout != nil && rollout.Result == reloader.ReasonWaitingForOperator && rollout.Message == workload.WhyEmpty:
		v.Message = fmt.Sprintf("No pod runs: the workload has no replicas. The next pods start with the newest content; it was last marked at %s.", clock(rollout.StartedAt))
	case how == reloader.ReasonAppeared:
		v.Message = fmt.Sprintf("%s was created at %s. A creation rolls nothing here (reload.onCreate does), so pods that started before do not have it.", config, at)
		v.Next = c.next(how)
	case how == reloader.ReasonBaseline && slices.Contains(reloader.Declines, newest.Why):
		v.Message = fmt.Sprintf("Changes of %s roll nothing: the workload %s. %s", config, newest.Why.Says(), newest.Why.Advice())
	case how == reloader.ReasonBaseline:
		v.Message = fmt.Sprintf("Nothing has changed since Reroll first saw it: %s, %s.", config, at)
	case how == reloader.ReasonReloaded:
		v.Message = fmt.Sprintf("The workload runs with the newest content. It last rolled for %s, at %s.", config, at)
	case slices.Contains(Newest, how):
		v.Message = fmt.Sprintf("The workload runs with the newest content: it %s (%s, %s).", how.Says(), config, at)
	default:
		v.Message = rolledNothing(newest)
	}
	if r := c.Record.Rollout; r != nil && r.Undone {
		v.Message += " Its template has lost the mark since, which started its pods again: configure your GitOps tool to keep the mark (docs/recipes.md)."
	}
	v.Message += c.often()
	if blind, next := c.blind(); blind != "" {
		v.Message, v.Next = v.Message+blind, cmp.Or(v.Next, next)
	}
	if f, on := c.freeze(); on {
		message, next := c.thaw(f)
		v.Message, v.Next = v.Message+" "+message+" The next change waits.", next
	}
	return v
}
