package plan

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/reloader"
)

// Rule is one rule about a Case. If reports false where the next rule must be asked.
type Rule struct {
	Name string
	// Says is the rule in a sentence, for ARCHITECTURE.md.
	Says string
	If   func(Case) (Verdict, bool)
}

// The names of the rules about a config that the workload does not want, and about one to whose content it came by itself.
const (
	NotWanted = "notWanted"
	Reverted  = "reverted"
	PodsNewer = "podsNewer"
)

// Rules are all rules, in order.
var Rules = []Rule{
	{NotWanted, "The workload does not ask for the config: do nothing.", notWanted},
	{"firstSight", "The config has no entry: the next table decides. After a missed change, the rules below decide.", firstSight},
	{"same", "The entry has the same version: do nothing.", same},
	{"unread", "The version differs: read the content.", unread},
	{"gone", "The config was deleted, and deletions do not count: do nothing.", gone},
	{"appeared", "The config was created, and creations do not count: update the entry. Exceptions: a pod ran when the config was edited, or a pod that requires the config started before the creation.", appeared},
	{"keyUnknown", "The digest key of the entry is lost, and the config is in this cluster: update the entry.", keyUnknown},
	{"unmoved", "The content that counts is as in the entry, and Reroll has seen no other content since: update the entry if needed.", unmoved},
	{Reverted, "The content changed and came back: update the entry. Exception: a pod started in between, or a rollback revived such a pod.", reverted},
	{"dormant", "No pod runs: update the entry. Pods that start later read the new content.", dormant},
	{PodsNewer, "Every container started after the change: update the entry.", podsNewer},
	{"roll", "In every other case: roll.", func(c Case) (Verdict, bool) { return c.roll(), true }},
}

// Decide returns the answer of the first rule that has one.
func Decide(c Case) Verdict {
	v, _ := c.answer(Rules)
	return v
}

// answer returns the answer of the first of some rules that has one.
func (c Case) answer(rules []Rule) (v Verdict, answered bool) {
	for _, r := range rules {
		if v, ok := r.If(c); ok {
			v.Rule = r.Name
			return v, true
		}
	}
	return Verdict{}, false
}

func (c Case) note(reason reloader.Reason) Verdict {
	return Verdict{Do: Note, Reason: reason, Write: c.Live.Write}
}

func (c Case) roll() Verdict {
	return Verdict{Do: Roll, Reason: reloader.ReasonReloaded, Write: c.Live.Write}
}

func ask(need Need) Verdict { return Verdict{Do: Ask, Need: need} }

// first reports whether the workload meets the config for the first time, or again.
func (c Case) first() bool { return !c.Known || c.Entry.Out }

// relation compares the entry with what is live. It is empty at first sight.
func (c Case) relation() applied.Relation {
	if c.first() {
		return ""
	}
	return applied.Relate(c.Entry, c.Live)
}

func notWanted(c Case) (Verdict, bool) {
	switch {
	case c.Wanted:
		return Verdict{}, false
	case c.first():
		return Verdict{Do: Nothing, Reason: c.Why}, true
	}
	out := c.Entry
	out.Out = true
	return Verdict{Do: Note, Reason: c.Why, Write: out}, true
}

func firstSight(c Case) (Verdict, bool) {
	if !c.first() {
		return Verdict{}, false
	}
	if c.Known && c.First.Mark == "" {
		c.First.Mark = MarkNone // it was made before the workload opted out
	}
	v, answered := c.answer(SightRules)
	if !answered {
		return c.note(reloader.ReasonBaseline), true
	}
	return v, v.Do != Roll
}

func same(c Case) (Verdict, bool) { return Verdict{Do: Nothing}, c.relation() == applied.Same }

func unread(c Case) (Verdict, bool) { return ask(NeedContent), c.Live.Unread }

func gone(c Case) (Verdict, bool) {
	return Verdict{Do: Nothing}, c.relation() == applied.Gone && !c.Counting.Deletion
}

func appeared(c Case) (Verdict, bool) {
	switch {
	case c.relation() != applied.Appeared || c.Counting.Creation:
		return Verdict{}, false
	case c.Pods == nil && (c.edited() || c.First.Required):
		return ask(NeedPods), true
	case c.edited() && oneStartedBy(*c.Pods, c.Live.DataWritten), c.earlierOne():
		return Verdict{}, false
	case c.First.Required: // pods have waited for it
		return c.note(reloader.ReasonBaseline), true
	}
	return c.note(reloader.ReasonAppeared), true
}

// earlierOne reports whether a pod that does not start without the config started after it was known to be absent and before it was made: it has read one
// that was there in between. Times are whole seconds, so a pod that started in the second before may have waited for it.
func (c Case) earlierOne() bool {
	created := c.Live.Created
	return c.First.Required && !created.IsZero() && !c.AsOf.IsZero() && oneStartedBetween(*c.Pods, c.AsOf, second(created).Add(-time.Second))
}

func keyUnknown(c Case) (Verdict, bool) {
	return c.note(reloader.ReasonBaseline), c.relation() == applied.Unknown && c.Config.Cluster == ""
}

// equal reports whether the content that counts is that of the entry.
func (c Case) equal() bool {
	return slices.Contains([]applied.Relation{applied.Equal, applied.Unused, applied.Restated}, c.relation())
}

func unmoved(c Case) (Verdict, bool) {
	switch {
	case !c.equal():
		return Verdict{}, false
	case c.Looks == nil:
		return ask(NeedLooks), true
	}
	_, away := applied.Left(c.Looks, c.Entry)
	switch c.relation() {
	case applied.Unused:
		return c.note(reloader.ReasonKeysUnused), !away
	case applied.Restated:
		return c.note(reloader.ReasonBaseline), !away
	}
	return Verdict{Do: Nothing}, !away
}

func reverted(c Case) (Verdict, bool) {
	if !c.equal() {
		return Verdict{}, false
	}
	left, _ := applied.Left(c.Looks, c.Entry)
	switch {
	case !c.Ours: // a rollback may have revived pods that started in between
		return Verdict{}, false
	case c.Pods == nil:
		return ask(NeedPods), true
	}
	return c.note(reloader.ReasonAlreadyCurrent), !oneStartedBetween(*c.Pods, left, c.thereBy())
}

func dormant(c Case) (Verdict, bool) { return c.note(reloader.ReasonDormant), c.Dormant }

func podsNewer(c Case) (Verdict, bool) {
	switch {
	case c.Config.Cluster != "":
		return Verdict{}, false // pods read a copy of it, which may be older
	case c.Pods == nil:
		return ask(NeedPods), true
	}
	return c.note(reloader.ReasonPodsNewer), allStartedAfter(*c.Pods, c.thereBy())
}
