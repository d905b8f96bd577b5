package turn

import (
	"fmt"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
)

// Limits are the settings of the installation that brakes have: those of rolloutLimits. The zero value holds back nothing.
type Limits struct {
	// Rolls per minute. A tenth of them may start together. 0: no limit.
	PerMinute int `yaml:"reloadsPerMinute"`
	// Workloads that may roll out at once. 0: no limit.
	Concurrent int `yaml:"maxConcurrentRollouts"`
	// Minimum time between two rolls of a workload.
	MinInterval time.Duration `yaml:"minReloadInterval"`
	// Rolls of one workload in about twelve hours, before Reroll [delays](rollouts.md#rollout-limits) further ones. 0: no limit.
	FlapLimit int `yaml:"flapLimit"`
	// When workloads may roll, such as `0 22 * * 1-5 6h`. Default: always.
	Windows control.Windows `yaml:"maintenanceWindows"`
}

// Brake holds back workloads that are due. A new brake is one entry of Brakes.
type Brake struct {
	// Name is the reason of its holds.
	Name reloader.Reason
	// Requests reports whether it holds back a roll that a user requested, and Retries whether it holds back a workload that a user retries.
	Requests, Retries bool
	// Holds returns the hold of a workload; nil if the brake lets it go.
	Holds func(Turn, Peers, control.Control, time.Time) *reloader.Hold
}

// Brakes are all brakes, in the order of Decide. The first that holds gives the reason. Brakes that end by themselves come before
// those that wait for other workloads.
var Brakes = []Brake{
	{reloader.ReasonFrozen, true, true, frozen},
	{reloader.ReasonPausedByOperator, true, true, paused},
	{reloader.ReasonOutsideWindow, false, true, outsideWindow},
	{reloader.ReasonTooSoon, false, false, tooSoon},
	{reloader.ReasonFlapping, false, false, flapping},
	{reloader.ReasonMissingConfig, false, true, missing},
	{reloader.ReasonHalted, false, false, halted},
	{reloader.ReasonWaitingForStep, false, true, waitingForStep},
	{reloader.ReasonLimited, false, true, crowded},
	{reloader.ReasonLimited, false, true, rated},
}

// Decide returns what holds back a workload that is due, with Due as the time when it is let go, if that is known; nil if it goes now. A hold is not an
// argument: a thaw, the end of a pause and a retry let a workload go at the next decision.
func Decide(t Turn, p Peers, c control.Control, now time.Time) *reloader.Hold {
	for _, b := range Brakes {
		if t.Requested && !b.Requests || t.Retry && !b.Retries {
			continue
		}
		if hold := b.Holds(t, p, c, now); hold != nil {
			hold.Reason = b.Name
			return hold
		}
	}
	return nil
}

// longestHold is how long a hold is believed: clocks are set, and freezes end.
const longestHold = time.Minute

// Again returns when to decide again about a workload with that hold.
func Again(hold reloader.Hold, now time.Time) time.Time {
	latest := now.Add(longestHold)
	if hold.Due.IsZero() {
		return latest
	}
	return reloader.Later(now.Add(time.Millisecond), reloader.Earlier(hold.Due, latest))
}

func frozen(_ Turn, _ Peers, c control.Control, now time.Time) *reloader.Hold {
	if f, ok := c.Freeze(now); ok {
		return &reloader.Hold{Message: f.Reason, Due: f.Until}
	}
	return nil
}

func paused(t Turn, _ Peers, c control.Control, now time.Time) *reloader.Hold {
	if p, ok := c.Paused(t.Workload.Namespace, t.Workload.Labels, now); ok {
		return &reloader.Hold{Message: p.Reason, Due: p.Until}
	}
	return nil
}

func outsideWindow(t Turn, _ Peers, c control.Control, now time.Time) *reloader.Hold {
	common := t.Limits.Windows
	if len(c.Windows) > 0 {
		common = c.Windows
	}
	for _, windows := range [][]control.Window{common, t.Chosen.Maintenance} {
		if opening := control.Opening(windows, now); !opening.Equal(now) {
			return &reloader.Hold{Due: opening}
		}
	}
	return nil
}

func tooSoon(t Turn, _ Peers, _ control.Control, now time.Time) *reloader.Hold {
	return until(t.Pace.last(now).Add(max(t.Chosen.MinInterval, t.Limits.MinInterval)), now)
}

func flapping(t Turn, _ Peers, _ control.Control, now time.Time) *reloader.Hold {
	return until(t.Pace.last(now).Add(t.Pace.flapPause(t.Limits.FlapLimit)), now)
}

func missing(t Turn, _ Peers, _ control.Control, _ time.Time) *reloader.Hold {
	if t.Missing == "" {
		return nil
	}
	return &reloader.Hold{Message: "no pod starts without " + t.Missing}
}

func halted(_ Turn, p Peers, _ control.Control, _ time.Time) *reloader.Hold {
	for c, s := range p.Steps.All() {
		if s.Failed != nil {
			return &reloader.Hold{Message: fmt.Sprintf("the reload of %s for %s has stalled", s.Failed, c)}
		}
	}
	return nil
}

func waitingForStep(_ Turn, p Peers, _ control.Control, _ time.Time) *reloader.Hold {
	for c, s := range p.Steps.All() {
		if s.Failed == nil && s.Free() <= 0 {
			return &reloader.Hold{Message: c.String()}
		}
	}
	return nil
}

// crowded leaves out the workload itself: one that rolls may roll again in its own place. The end of its hold is not known; see NextInCrowd.
func crowded(t Turn, p Peers, _ control.Control, _ time.Time) *reloader.Hold {
	if t.Limits.Concurrent <= 0 || rolling(p.All, t.Workload.Ref()) < t.Limits.Concurrent {
		return nil
	}
	return &reloader.Hold{Message: fmt.Sprintf("rolloutLimits.maxConcurrentRollouts is %d", t.Limits.Concurrent)}
}

// rated lets a tenth of the rate begin at once, and the rest of it evenly over a minute, those first that it has held longest. It counts the rolls of all
// processes in the last minute, since each workload says when it rolled last.
func rated(t Turn, p Peers, _ control.Control, now time.Time) *reloader.Hold {
	rate := t.Limits.PerMinute
	if rate <= 0 || t.Going {
		return nil
	}
	limited := func(p Peer) bool { return p.Hold != nil && p.Hold.Reason == reloader.ReasonLimited }
	since, before, begun := now, 0, []time.Time{}
	if limited(t.Peer) {
		since = t.Hold.Since
	}
	for peer := range p.All {
		if at := peer.Pace.last(now); peer.Going {
			begun = append(begun, now)
		} else if at.After(now.Add(-time.Minute)) {
			begun = append(begun, at)
		}
		if limited(peer) && peer.Hold.Due.After(now) && peer.Hold.Since.Before(since) { // one that cannot begin when its turn comes loses it
			before++
		}
	}
	each, taken := time.Minute/time.Duration(rate-rate/10), time.Time{}
	for _, at := range slices.SortedFunc(slices.Values(begun), time.Time.Compare) {
		taken = reloader.Later(taken, at).Add(each)
	}
	taken = reloader.Later(taken, now).Add(time.Duration(before+1) * each)
	hold := until(taken.Add(-time.Duration(max(1, rate/10))*each), now)
	if hold != nil {
		hold.Message = fmt.Sprintf("rolloutLimits.reloadsPerMinute is %d", rate)
	}
	return hold
}

// until holds back until a time; it does not if that time has come.
func until(due, now time.Time) *reloader.Hold {
	if !due.After(now) {
		return nil
	}
	return &reloader.Hold{Due: due}
}
