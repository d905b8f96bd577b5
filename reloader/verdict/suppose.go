package verdict

import (
	"cmp"
	"slices"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
)

// Fate sums up what would become of a workload if a config changed.
type Fate string

// The fates.
const (
	RollsNow   Fate = "Now"
	RollsLater Fate = "Later"
	// Reloads: its running pods would take the change without a restart.
	Reloads Fate = "Reloads"
	// Notified: a webhook would be called instead.
	Notified Fate = "Notified"
	// RollsNever: this change does not roll the workload at all.
	RollsNever Fate = "Never"
)

// Suppose says what would become of the workload if the config of e changed now in these keys; in any, if there are none. Limits that count rolls
// are not part of it.
func (c Case) Suppose(e reloader.Edge, keys []string) (Fate, Verdict) {
	none := func(why reloader.Reason, says string) (Fate, Verdict) {
		return RollsNever, say(NotRolled, why, "It would not roll: the workload "+says+".", "")
	}
	counting := countingKeys(c.Record, e)
	counts := counting.Filter(e.Uses)
	switch {
	case !dialect.Asks(e.Why):
		return none(e.Why, declined(e))
	case c.Record.Dormant:
		return none(reloader.ReasonDormant, reloader.ReasonDormant.Says())
	case len(keys) > 0 && e.Applied.Sum != "" && e.Pending == "" && counts != nil && !slices.ContainsFunc(keys, counts):
		return none(reloader.ReasonKeysUnused, reloader.ReasonKeysUnused.Says()+". These keys count: "+shortened(counting.String()))
	case c.Status != nil && c.Status.DryRun:
		return none(reloader.ReasonDryRun, reloader.ReasonDryRun.Says())
	}
	supposed := *c.Record
	e.Pending = "supposed"
	supposed.Edges, supposed.Rollout, supposed.Problems = []reloader.Edge{e}, nil, nil
	supposed.Missing = slices.DeleteFunc(slices.Clone(supposed.Missing), func(m reloader.Missing) bool {
		return !m.Awaited || m.Config == e.Config && (len(keys) == 0 || !slices.ContainsFunc(m.Keys, func(k string) bool { return !slices.Contains(keys, k) }))
	})
	switch h := supposed.Hold; {
	case h == nil || h.DeadLetter():
	case h.Reason == reloader.ReasonMissingConfig, h.Reason == reloader.ReasonRetrying, !h.Due.IsZero() && !h.Due.After(c.Now):
		supposed.Hold = nil // a new change is a new try
	}
	c.Record = &supposed
	switch v := c.judge(); { // nothing newer is known of a cluster that is away
	case v.State != Pending:
		return RollsLater, v
	case c.Status != nil && c.Status.Notifies:
		return Notified, say(NotRolled, reloader.ReasonNotified, "A webhook would be called instead of rolling it.", "")
	default:
		fate, without := RollsNow, c.without(e)
		if without != "" && e.Restarts == "" {
			fate = Reloads
		}
		v.Message = "It " + cmp.Or(without, "would roll")
		if text := counting.String(); len(keys) == 0 && counts != nil && text != "" {
			v.Message += " if a key changes that counts: " + shortened(text)
		}
		v.Message += "."
		return fate, v
	}
}

// countingKeys returns the keys of e that matter to the workload.
func countingKeys(r *reloader.WorkloadRecord, e reloader.Edge) dialect.Keys {
	keys, _ := dialect.ParseKeys(r.Keys) // a list that cannot be read leaves out nothing
	if e.UsedKeys {
		keys = keys.OnlyUsed()
	}
	return keys
}

// shortened bounds the text of a list of keys.
func shortened(text string) string {
	const most = 256
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}
