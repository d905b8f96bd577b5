package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
)

// foreseen is what would become of one workload.
type foreseen struct {
	outcome reloader.Reason
	message string
	// due is until when it would wait; zero if that is not known.
	due time.Time
}

// foresee says what a change would do to w now, as far as the records tell: by the word of those who run the cluster, and by its own. Brakes
// that count rolls, of it or of all, are not foretold but for the shortest time between two.
func (s Supposed) foresee(w *reloader.WorkloadRecord) foreseen {
	if f := s.heldByCluster(w); f.outcome != "" {
		return f
	}
	if f := s.heldByItself(w); f.outcome != "" {
		return f
	}
	if f := s.heldAlready(w); f.outcome != "" {
		return f
	}
	if f := s.heldByOthers(w); f.outcome != "" {
		return f
	}
	return foreseen{outcome: reloader.ReasonReloaded}
}

// heldByCluster says whether those who run the cluster hold back w.
func (s Supposed) heldByCluster(w *reloader.WorkloadRecord) foreseen {
	c := s.Clusters[w.Cluster]
	if c == nil || c.Status == nil {
		return foreseen{}
	}
	switch {
	case c.Status.DryRun:
		return foreseen{outcome: reloader.ReasonDryRun}
	case FromFreeze(c, s.Now).Frozen:
		return foreseen{reloader.ReasonFrozen, c.Status.Freeze.Reason, c.Status.Freeze.Until}
	}
	if p, ok := s.longestPause(w); ok {
		return foreseen{reloader.ReasonPausedByOperator, p.Reason, p.Until}
	}
	windows := c.Status.Windows
	if len(windows) > 0 && !slices.ContainsFunc(windows, func(o reloader.Window) bool { return o.Open }) {
		return foreseen{outcome: reloader.ReasonOutsideWindow, due: earliest(windows)}
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
			return foreseen{reloader.ReasonOutsideWindow, "its own windows are " + strings.Join(w.Terms.Windows, "; "), opening}
		}
	}
	if due := w.Pace.At.Add(time.Duration(w.Terms.MinInterval) * time.Second); w.Terms.MinInterval > 0 && due.After(s.Now) {
		return foreseen{outcome: reloader.ReasonTooSoon, due: due}
	}
	for _, m := range w.Terms.Missing {
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
			return nil
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

// heldByOthers says whether w waits until others of less weight have rolled out.
func (s Supposed) heldByOthers(w *reloader.WorkloadRecord) foreseen {
	if w.Terms.Weight == 0 {
		return foreseen{}
	}
	for _, other := range s.Dependents {
		near := other.Cluster == w.Cluster && other.Workload.Namespace == w.Workload.Namespace
		if near && s.edge(other) >= 0 && !other.Hold.DeadLetter() && other.Terms.Weight < w.Terms.Weight {
			return foreseen{outcome: reloader.ReasonWaitingForStep, message: other.Workload.String() + " goes first, with less weight"}
		}
	}
	return foreseen{}
}
