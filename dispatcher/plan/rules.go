package plan

import (
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/reloader"
)

// Rule is one rule about a Case.
type Rule applied.Rule[Case, Verdict]

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
	{"roll", "In every other case: roll.", roll},
}

// Decide returns the answer of the first rule that has one.
func Decide(c Case) Verdict {
	for _, r := range Rules {
		if v, ok := r.If(c); ok {
			v.Rule = r.Name
			return v
		}
	}
	return Verdict{Do: Nothing}
}

func (c Case) note(reason reloader.Reason) (Verdict, bool) {
	return Verdict{Do: Note, Reason: reason, Write: c.Live.Write}, true
}

func ask(need applied.Need) (Verdict, bool) { return Verdict{Do: Ask, Need: need}, true }

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
		c.First.Mark = applied.MarkNone // it was made before the workload opted out
	}
	f := applied.Sight(c.Sighting)
	switch {
	case f.Need != "":
		return ask(f.Need)
	case f.Missed:
		return Verdict{}, false
	}
	return c.note(f.Reason)
}

func same(c Case) (Verdict, bool) { return Verdict{Do: Nothing}, c.relation() == applied.Same }

func unread(c Case) (Verdict, bool) {
	return Verdict{Do: Ask, Need: applied.NeedContent}, c.relation() == applied.Unread
}

func gone(c Case) (Verdict, bool) {
	return Verdict{Do: Nothing}, c.relation() == applied.Gone && (c.Ending || !c.Counting.Deletion)
}

func appeared(c Case) (Verdict, bool) {
	switch {
	case c.relation() != applied.Appeared || c.Counting.Creation:
		return Verdict{}, false
	case c.Pods == nil && (c.Live.Edited() || c.First.Required):
		return ask(applied.NeedPods)
	case c.Pods != nil && (c.Live.Edited() && applied.OneStartedBy(*c.Pods, c.Live.DataWritten) || c.earlierOne()):
		return Verdict{}, false
	case c.First.Required: // pods have waited for it
		return c.note(reloader.ReasonBaseline)
	}
	return c.note(reloader.ReasonAppeared)
}

// earlierOne reports whether a pod that does not start without the config started after it was known to be absent and before it was made: it has read one
// that was there in between. Times are whole seconds, so a pod that started in the second before may have waited for it.
func (c Case) earlierOne() bool {
	created := c.Live.Created
	return c.First.Required && !created.IsZero() && !c.AsOf.IsZero() && applied.OneStartedBetween(*c.Pods, c.AsOf, created.Truncate(time.Second).Add(-time.Second))
}

func keyUnknown(c Case) (Verdict, bool) {
	if c.relation() != applied.KeyUnknown || c.Config.Cluster != "" {
		return Verdict{}, false
	}
	return c.note(reloader.ReasonBaseline)
}

func (c Case) equal() bool {
	switch c.relation() {
	case applied.Equal, applied.Unused, applied.Restated:
		return true
	}
	return false
}

// thereBy returns a time when the live content was there. Another cluster has another clock, so its times say nothing.
func (c Case) thereBy() time.Time {
	if c.Config.Cluster != "" {
		return c.Live.Seen
	}
	return c.Live.ThereBy(c.AsOf)
}

func unmoved(c Case) (Verdict, bool) {
	switch {
	case !c.equal():
		return Verdict{}, false
	case c.Looks == nil:
		return ask(applied.NeedLooks)
	}
	if _, away := applied.Left(c.Looks, c.Entry); away {
		return Verdict{}, false
	}
	switch c.relation() {
	case applied.Unused:
		return c.note(reloader.ReasonKeysUnused)
	case applied.Restated:
		return c.note(reloader.ReasonBaseline)
	}
	return Verdict{Do: Nothing}, true
}

func reverted(c Case) (Verdict, bool) {
	if !c.equal() {
		return Verdict{}, false
	}
	left, _ := applied.Left(c.Looks, c.Entry)
	back := c.thereBy()
	switch {
	case c.Template == nil:
		return ask(applied.NeedTemplate)
	case !c.Template.Ours && c.Template.Changed.After(back):
		return c.note(reloader.ReasonAlreadyCurrent) // the user who rolled back saw the live content
	case !c.Template.Ours:
		return Verdict{}, false // a rollback may have revived pods that started in between
	case c.Pods == nil:
		return ask(applied.NeedPods)
	case applied.OneStartedBetween(*c.Pods, left, back):
		return Verdict{}, false
	}
	return c.note(reloader.ReasonAlreadyCurrent)
}

func dormant(c Case) (Verdict, bool) {
	v, _ := c.note(reloader.ReasonDormant)
	return v, c.Dormant
}

func podsNewer(c Case) (Verdict, bool) {
	switch {
	case c.Config.Cluster != "":
		return Verdict{}, false // pods read a copy of it, which may be older
	case c.Pods == nil:
		return ask(applied.NeedPods)
	case !applied.AllStartedAfter(*c.Pods, c.thereBy()):
		return Verdict{}, false
	}
	return c.note(reloader.ReasonPodsNewer)
}

func roll(c Case) (Verdict, bool) {
	return Verdict{Do: Roll, Reason: reloader.ReasonReloaded, Write: c.Live.Write}, true
}
