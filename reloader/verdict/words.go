package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/dialect"
)

// hold returns what holds the workload back. Before its record says so, that is what holds back all workloads of the namespace or the cluster that
// wait: a pause that selects no labels, or the maintenance windows. It has no reason if nothing does.
func (c Case) hold() (hold reloader.Hold) {
	switch {
	case c.Record.Hold != nil:
		return *c.Record.Hold
	case c.Status == nil || !c.waits():
		return hold
	}
	for _, p := range c.Status.Pauses {
		if p.Selector == "" && c.covers(p) && p.Until.After(hold.Due) {
			hold = reloader.Hold{Reason: reloader.ReasonPausedByOperator, Message: p.Reason, Due: p.Until}
		}
	}
	if hold.Reason != "" || slices.ContainsFunc(c.Status.Windows, func(w reloader.Window) bool { return w.Open }) {
		return hold
	}
	for _, w := range c.Status.Windows {
		hold.Reason = reloader.ReasonOutsideWindow
		if hold.Due.IsZero() || !w.Next.IsZero() && w.Next.Before(hold.Due) {
			hold.Due = w.Next
		}
	}
	return hold
}

// covers reports whether a pause of the cluster is on, and not of another namespace.
func (c Case) covers(p reloader.Pause) bool {
	return p.On(c.Now) && (p.Namespace == "" || p.Namespace == c.Workload.Namespace)
}

func (c Case) waits() bool {
	return slices.ContainsFunc(c.Record.Edges, func(e reloader.Edge) bool { return e.Pending != "" })
}

// edge returns the dependency that a sentence is about: one that the installation does not roll for, or whose content is not on record, or else that of
// which Reroll has learnt last.
func (c Case) edge() reloader.Edge {
	for _, how := range []reloader.Reason{reloader.ReasonDryRun, reloader.ReasonNotified, ""} {
		if i := slices.IndexFunc(c.Record.Edges, func(e reloader.Edge) bool { return e.How == how }); i >= 0 {
			return c.Record.Edges[i]
		}
	}
	if len(c.Record.Edges) == 0 {
		return reloader.Edge{}
	}
	return slices.MaxFunc(c.Record.Edges, func(a, b reloader.Edge) int { return a.At.Compare(b.At) })
}

// frozen reports whether a freeze of the cluster holds back changes now.
func (c Case) frozen() bool { return c.Status != nil && c.Status.Freeze.On(c.Now) }

// freeze says what freezes the cluster, or what the record says of that. A control document that cannot be read must be corrected: nothing ends it.
func (c Case) freeze() Problem {
	s := c.Status
	if s == nil {
		s = &reloader.ClusterStatus{}
	}
	var f reloader.Pause
	if c.frozen() {
		f = *s.Freeze
	}
	if h := c.Record.Hold; h != nil && h.Reason == reloader.ReasonFrozen {
		f.Reason, f.Until = h.Message, h.Due
	}
	return freezeOf(f, s)
}

func freezeOf(f reloader.Pause, s *reloader.ClusterStatus) Problem {
	if s.ControlProblem != "" {
		return Problem{end(s.ControlProblem), fmt.Sprintf("kubectl -n %s edit configmap %s", ownNamespace(s), control.ConfigMap), reloader.ReasonFrozen}
	}
	return Problem{"All reloads are frozen" + terms(f) + ".", "reroll resume -A" + elsewhere(s), reloader.ReasonFrozen}
}

// advice returns the command that the table of reasons has for one.
func (c Case) advice(reason reloader.Reason) string {
	next := reason.Info().Next
	if next == "" {
		return ""
	}
	pause := reloader.Pause{Namespace: c.Workload.Namespace}
	own := ""
	if c.Status != nil {
		own = elsewhere(c.Status)
		if i := slices.IndexFunc(c.Status.Pauses, c.covers); i >= 0 {
			pause = c.Status.Pauses[i]
		}
	}
	return strings.NewReplacer("{workload}", ref(c.Workload), "{namespace}", c.Workload.Namespace, "{pause}", flags(pause)+own).Replace(next)
}

// without says how a change of the config of e reaches the running pods of a workload that asks not to restart them; empty for other workloads.
func (c Case) without(e reloader.Edge) string {
	switch {
	case !slices.Contains(dialect.HotStrategies, c.Record.Strategy) || !dialect.Asks(e.Why):
		return ""
	case e.Restarts != "":
		return "would restart its pods: " + e.Restarts
	}
	return "would reach its running pods without a restart (strategy " + c.Record.Strategy + ")"
}

// ahead says the same of the next change.
func (c Case) ahead(e reloader.Edge) string {
	return with(" A change of "+named(e.Config)+" ", c.without(e), ".")
}

// often says that the workload rolls again and again.
func (c Case) often() string {
	const many = 10
	if c.Record.Rolls < many {
		return ""
	}
	return fmt.Sprintf(" It has rolled about %d times within twelve hours: reroll get reloads -n %s shows for what.", c.Record.Rolls, c.Workload.Namespace)
}

// ofHold says what holds a workload back and when it continues.
func ofHold(h reloader.Hold) string {
	says := because("The workload "+h.Reason.Says(), h.Message)
	switch outside := h.Reason == reloader.ReasonOutsideWindow; {
	case outside && h.Due.IsZero():
		return because("The workload is held back because no maintenance window ever opens", h.Message)
	case outside:
		return "The workload " + h.Reason.Says() + "; the next one opens at " + clock(h.Due) + "."
	case !h.Due.IsZero() && !h.DeadLetter():
		says += " It continues at " + clock(h.Due) + "."
	}
	return says
}

// declined says why a workload does not ask for a config, with the annotation that says so.
func declined(e reloader.Edge) string { return e.Why.Says() + with(" (", e.Clause, ")") }

func rolledNothing(e reloader.Edge) string {
	text := fmt.Sprintf("The last change rolled nothing: the workload %s (%s, %s).", e.How.Says(), named(e.Config), clock(e.At))
	return strings.TrimSpace(text + " " + e.How.Advice())
}

// kubectl returns a command of kubectl that takes the workload.
func (c Case) kubectl(verb string) string {
	return fmt.Sprintf("kubectl -n %s %s %s/%s", c.Workload.Namespace, verb, strings.ToLower(c.Workload.Kind), c.Workload.Name)
}

// terms says why, by which user, since and until when a pause holds back.
func terms(p reloader.Pause) (text string) {
	if p.Reason != "" {
		text = fmt.Sprintf(" (%q)", p.Reason)
	}
	text += with(" by ", p.By, "")
	if !p.Since.IsZero() {
		text += " since " + clock(p.Since)
	}
	if p.Until.IsZero() {
		return text + " until they are resumed"
	}
	return text + " until " + clock(p.Until)
}

// with returns a part of a sentence, unless it says nothing.
func with(before, says, after string) string {
	if says == "" {
		return ""
	}
	return before + says + after
}

// flags name the workloads of a pause.
func flags(p reloader.Pause) string {
	return cmp.Or(with("-n ", p.Namespace, ""), "-A") + with(" -l '", p.Selector, "'")
}

// ownNamespace is Reroll's own namespace, and elsewhere the flag for commands that write to it, unless it is the usual one.
func ownNamespace(s *reloader.ClusterStatus) string { return cmp.Or(s.Namespace, "reroll") }

func elsewhere(s *reloader.ClusterStatus) string {
	if own := ownNamespace(s); own != "reroll" {
		return " --reroll-namespace " + own
	}
	return ""
}

// ref names a workload as the commands of reroll take it, and named a config as sentences do.
func ref(w reloader.WorkloadRef) string { return w.Namespace + "/" + w.Kind + "/" + w.Name }

func named(c reloader.Config) string {
	return string(c.Kind) + " " + c.Namespace + "/" + c.Name + with(" of cluster ", c.Cluster, "")
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

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

// more says how many others there are besides the first.
func more(n int, what string) string {
	if n <= 1 {
		return ""
	}
	return fmt.Sprintf(" And %d more%s.", n-1, what)
}
