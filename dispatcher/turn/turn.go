// Package turn decides when a workload that is behind rolls: the debounce window, the ordered brakes, and the rollouts of other workloads.
//
// The package takes values and returns values. The caller passes the time, keeps Pace with the workload, and computes each due time again whenever it asks. Two processes that pass equal values get equal answers.
package turn

import (
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
)

// Debounce combines successive edits into one roll.
type Debounce struct {
	// Time without further changes before a roll. 0: roll at once.
	Window time.Duration `yaml:"window"`
	// Longest wait for changes to stop. At least `window`.
	MaxWait time.Duration `yaml:"maxWait"`
}

// Turn is what decides when one workload rolls. It has no derived time.
type Turn struct {
	// Peer is the workload as it is among the others.
	Peer
	Debounce Debounce
	Limits   Limits
	// Chosen is what the annotations of the workload ask for: a window in the place of that of Debounce, a longer least interval, and maintenance windows
	// that must be open as well.
	Chosen dialect.Chosen
	// Wait has the times of the changes that the workload lacks.
	Wait Wait
	// Looking reports whether Reroll has yet to read configs of the workload that hints name. Their changes go out in the same roll.
	Looking bool
	// Missing names the configs and keys without which no pod of the workload starts; empty if none is missing.
	Missing string
	// Requested reports whether reroll.dev/requested has a value that has not been served.
	Requested bool
}

// Wait is since when a workload waits for changes. Only Heard makes a Wait, so that its times are never later than the present.
type Wait struct{ first, last time.Time }

// Heard returns w after one more change. at is when the change was verified; for a change that another cluster dated, it is now.
// A time in the future counts as now: the clock of the process that stored it was ahead.
func (w Wait) Heard(at, now time.Time) Wait {
	at = reloader.Earlier(at, now)
	if w.first.IsZero() || at.Before(w.first) {
		w.first = at
	}
	w.last = reloader.Later(w.last, at)
	return w
}

// After returns what remains of w after a roll that read the config at a time, and reports whether anything does. A change after read starts
// the debounce window and its longest time again.
func (w Wait) After(read time.Time) (Wait, bool) {
	if !w.last.After(read) {
		return Wait{}, false
	}
	w.first = reloader.Later(w.first, read)
	return w, true
}

// And returns the wait for what w or o waits for. o waits for something.
func (w Wait) And(o Wait) Wait { return w.Heard(o.first, o.first).Heard(o.last, o.last) }

// Since returns when the oldest change was verified that w waits for.
func (w Wait) Since() time.Time { return w.first }

// lookAgain is the time until a workload that is due checks again whether Reroll has read all configs that hints name.
const lookAgain = 50 * time.Millisecond

// Due returns when the debounce window of t closes: after a window without another change, but no later than the longest time after the oldest
// change. It is zero if nothing asks for a roll, and now if a user requested one. The answer depends on the values
// of t alone. Callers compute it again instead of keeping it.
func Due(t Turn, now time.Time) time.Time {
	if t.Requested {
		return now
	}
	if t.Wait.first.IsZero() {
		return time.Time{}
	}
	window := t.Debounce.Window
	if t.Chosen.Debounce != nil {
		window = *t.Chosen.Debounce
	}
	latest := t.Wait.first.Add(max(window, t.Debounce.MaxWait))
	due := reloader.Earlier(t.Wait.last.Add(window), latest)
	if t.Looking && window > 0 {
		due = reloader.Earlier(reloader.Later(due, now.Add(lookAgain)), latest)
	}
	return due
}
