package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/dialect"
)

// foreseen is what would become of one workload.
type foreseen struct {
	outcome reloader.Reason
	message string
	// due is until when it would wait; zero if that is not known.
	due time.Time
}

// foresee says what a change would do to w now, as far as the records tell: whether it comes to nothing whenever it comes, and else what holds
// it back by the word of those who run the cluster, and by its own. Brakes that count rolls, of it or of all, are not foretold but for the
// shortest time between two.
func (s Supposed) foresee(w *reloader.WorkloadRecord) foreseen {
	for _, judge := range []func(*reloader.WorkloadRecord) foreseen{
		s.comesToNothing, s.heldByCluster, s.heldByItself, s.heldAlready,
	} {
		if f := judge(w); f.outcome != "" {
			return f
		}
	}
	f := foreseen{outcome: reloader.ReasonReloaded}
	if s.notifies(w) {
		f.outcome = reloader.ReasonNotified
	}
	if i := s.edge(w); i >= 0 && len(s.Keys) == 0 && (w.Terms.Keys != "" || w.Edges[i].UsedKeys) {
		f.message = "if a key changes that counts: " + keysText(w, w.Edges[i])
	}
	return f
}

// notifies reports whether a webhook is called in the cluster of w in the place of every roll.
func (s Supposed) notifies(w *reloader.WorkloadRecord) bool {
	c := s.Clusters[w.Cluster]
	return c != nil && c.Status != nil && c.Status.Notifies
}

// comesToNothing says whether w is not rolled for the change at all, now or later.
func (s Supposed) comesToNothing(w *reloader.WorkloadRecord) foreseen {
	i := s.edge(w)
	if i < 0 {
		return foreseen{}
	}
	switch e := w.Edges[i]; {
	case !dialect.Asks(e.Why):
		return foreseen{outcome: e.Why}
	case w.Terms.Dormant != "":
		return foreseen{outcome: w.Terms.Dormant}
	case s.unused(w, e):
		return foreseen{outcome: reloader.ReasonKeysUnused, message: "these keys count: " + keysText(w, e)}
	case s.dry(w):
		return foreseen{outcome: reloader.ReasonDryRun}
	}
	return foreseen{}
}

// dry reports whether nothing is written to the cluster of w.
func (s Supposed) dry(w *reloader.WorkloadRecord) bool {
	c := s.Clusters[w.Cluster]
	return c != nil && c.Status != nil && c.Status.DryRun
}

// unused reports whether none of the keys matters to w. Of what is created, and of what w waits for already, other keys may.
func (s Supposed) unused(w *reloader.WorkloadRecord, e reloader.Edge) bool {
	if len(s.Keys) == 0 || e.Handled.Sum == "" || e.Pending != "" {
		return false
	}
	counts := keysThatCount(w, e).Filter(e.Uses)
	return counts != nil && !slices.ContainsFunc(s.Keys, counts)
}

// keysThatCount returns the keys that matter to w. A list that cannot be read leaves out nothing.
func keysThatCount(w *reloader.WorkloadRecord, e reloader.Edge) dialect.Keys {
	keys, err := dialect.ParseKeys(w.Terms.Keys)
	if err != nil {
		keys = dialect.Keys{}
	}
	if e.UsedKeys {
		keys = keys.OnlyUsed()
	}
	return keys
}

// maxKeysText bounds what is told of a list of keys.
const maxKeysText = 256

func keysText(w *reloader.WorkloadRecord, e reloader.Edge) string {
	text := keysThatCount(w, e).String()
	if len(text) > maxKeysText {
		text = text[:maxKeysText] + "…"
	}
	return text
}

// heldByCluster says whether those who run the cluster hold back w.
func (s Supposed) heldByCluster(w *reloader.WorkloadRecord) foreseen {
	c := s.Clusters[w.Cluster]
	if c == nil || c.Status == nil {
		return foreseen{}
	}
	switch {
	case FromFreeze(c, s.Now).Frozen:
		return foreseen{reloader.ReasonFrozen, c.Status.Freeze.Reason, c.Status.Freeze.Until}
	}
	if p, ok := s.longestPause(w); ok {
		return foreseen{reloader.ReasonPausedByOperator, p.Reason, p.Until}
	}
	windows := c.Status.Windows
	if len(windows) > 0 && !slices.ContainsFunc(windows, func(o reloader.Window) bool { return o.Open }) {
		return foreseen{reloader.ReasonOutsideWindow, strings.TrimPrefix(neverOpens(earliest(windows)), "; "), earliest(windows)}
	}
	return foreseen{}
}

// longestPause returns the pause of w that ends last. A pause that selects by labels is none: the records do not tell who has them.
func (s Supposed) longestPause(w *reloader.WorkloadRecord) (longest Pause, ok bool) {
	for _, p := range FromPauses(s.Clusters[w.Cluster], s.Now) {
		if p.Selector == "" && p.covers(w) && p.Until.After(longest.Until) {
			longest, ok = p, true
		}
	}
	return longest, ok
}

// neverOpens says so of windows of which none opens again.
func neverOpens(opening time.Time) string {
	if opening.IsZero() {
		return "; no window ever opens"
	}
	return ""
}

// earliest returns when the first of some windows opens; zero if none ever does.
func earliest(windows []reloader.Window) time.Time {
	var first time.Time
	for _, w := range windows {
		if !w.Next.IsZero() && (first.IsZero() || w.Next.Before(first)) {
			first = w.Next
		}
	}
	return first
}

// heldByItself says whether w asks not to be rolled now, or cannot be.
func (s Supposed) heldByItself(w *reloader.WorkloadRecord) foreseen {
	if windows := windowsOf(w.Terms); len(windows) > 0 {
		if opening := control.Opening(windows, s.Now); !opening.Equal(s.Now) {
			return foreseen{reloader.ReasonOutsideWindow, "its own windows are " + strings.Join(w.Terms.Windows, "; ") + neverOpens(opening), opening}
		}
	}
	if due := w.Pace.At.Add(time.Duration(w.Terms.MinInterval) * time.Second); w.Terms.MinInterval > 0 && due.After(s.Now) {
		return foreseen{outcome: reloader.ReasonTooSoon, due: due}
	}
	for _, m := range w.Missing {
		if !m.Awaited {
			continue
		}
		if !s.isOf(w, m.Config) {
			return foreseen{outcome: reloader.ReasonMissingConfig, message: missingText(m)}
		}
		if left := without(m.Keys, s.Keys); len(left) > 0 && len(s.Keys) > 0 {
			return foreseen{outcome: reloader.ReasonMissingConfig, message: missingText(reloader.Missing{Config: m.Config, Keys: left})}
		}
	}
	return foreseen{}
}

// windowsOf returns the windows that a workload asks for; none if they cannot be read, as the dispatcher that wrote them down could.
func windowsOf(t reloader.Terms) []control.Window {
	var windows []control.Window
	for _, text := range t.Windows {
		w, err := control.ParseWindow(text)
		if err != nil {
			w = control.Never()
		}
		windows = append(windows, w)
	}
	return windows
}

func missingText(m reloader.Missing) string {
	if len(m.Keys) == 0 {
		return m.Config.String() + " is missing"
	}
	return fmt.Sprintf("of %s these keys are missing: %s", m.Config, strings.Join(m.Keys, ", "))
}

// without returns the keys that are not among those that are supposed to change.
func without(keys, changed []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return slices.Contains(changed, k) })
}

// heldAlready says whether what holds w back now would hold back a further change as well.
func (s Supposed) heldAlready(w *reloader.WorkloadRecord) foreseen {
	switch h := w.Hold; {
	case h == nil:
		return foreseen{}
	case h.DeadLetter(): // also what is tried now and then: what failed many times in a row does so again
		return foreseen{outcome: h.Reason, message: h.Message}
	case h.Reason == reloader.ReasonFlapping && h.Due.After(s.Now):
		return foreseen{h.Reason, h.Message, h.Due}
	}
	return foreseen{}
}
