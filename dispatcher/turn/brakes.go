package turn

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Limits are the settings of the installation that brakes have: those of rolloutLimits. The zero value holds back nothing.
type Limits struct {
	// Rolls per minute; a tenth may start together. 0: no limit.
	PerMinute int `yaml:"reloadsPerMinute"`
	// Workloads that may roll out at once. 0: no limit.
	Concurrent int `yaml:"maxConcurrentRollouts"`
	// Minimum time between two rolls of a workload.
	MinInterval time.Duration `yaml:"minReloadInterval"`
	// Rolls in about twelve hours before a workload slows down. 0: no limit.
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
	// Crowd is there instead of Holds if only so many workloads of a group may roll at once.
	Crowd *Crowd
}

// Crowd limits how many workloads of a group roll at once.
type Crowd struct {
	// Room returns that number, which is the same for all groups; 0 for no limit.
	Room func(Limits) int
	// Groups returns those of a workload, which waits while one of them has no room. A workload without groups does not wait.
	Groups func(*workload.Workload) []string
}

// Brakes are all brakes, in the order of Decide. The first that holds gives the reason. Brakes that end by themselves come before
// those that wait for other workloads. The rates come last, so that only a workload that may go takes a place in their lines.
var Brakes = []Brake{
	{reloader.ReasonFrozen, true, true, frozen, nil},
	{reloader.ReasonPausedByOperator, true, true, paused, nil},
	{reloader.ReasonOutsideWindow, false, true, outsideWindow, nil},
	{reloader.ReasonTooSoon, false, false, tooSoon, nil},
	{reloader.ReasonFlapping, false, false, flapping, nil},
	{reloader.ReasonMissingConfig, false, true, missing, nil},
	{reloader.ReasonHalted, false, false, halted, nil},
	{reloader.ReasonWaitingForStep, false, true, waitingForStep, nil},
	{reloader.ReasonConcurrencyLimited, false, true, nil, concurrent},
	{reloader.ReasonRateLimited, false, true, rateLimited, nil},
}

// Decision is the answer of the brakes about a workload that is due.
type Decision struct {
	// Hold is why it waits, with Due as the time when it is let go, if that is known; nil if it goes now.
	Hold *reloader.Hold
	// Slot and Line replace those of the workload and of the process. The caller keeps them for the next decision.
	Slot Slot
	Line Line
}

// Decide asks the brakes about a workload that is due. A hold is not an argument: a thaw, the end of a pause and a retry let a workload go at
// the next decision.
func Decide(t Turn, p Peers, c control.Control, now time.Time) Decision {
	for _, b := range Brakes {
		if t.Requested && !b.Requests || t.Retry && !b.Retries {
			continue
		}
		hold := b.holds(t, p, c, now)
		if hold == nil {
			continue
		}
		if hold.Reason = b.Name; b.Name == reloader.ReasonRateLimited {
			slot, line := place(t, p.Line, now)
			return Decision{hold, slot, line}
		}
		t.Slot.Braked = true
		return Decision{hold, t.Slot, p.Line}
	}
	slot, line := place(t, p.Line, now)
	return Decision{nil, slot, line}
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

// Continue returns hold with the time since when it lasts: a hold for the reason of the one before began with that one.
func Continue(hold reloader.Hold, before *reloader.Hold, now time.Time) reloader.Hold {
	hold.Since = now
	if before != nil && before.Reason == hold.Reason {
		hold.Since = before.Since
	}
	return hold
}

func (b Brake) holds(t Turn, p Peers, c control.Control, now time.Time) *reloader.Hold {
	if b.Crowd == nil {
		return b.Holds(t, p, c, now)
	}
	room := b.Crowd.Room(t.Limits)
	if room <= 0 || b.Crowd.takes(t.Workload, b.Crowd.rolling(p.All, t.Workload.Ref()), room) {
		return nil
	}
	return &reloader.Hold{}
}

// rolling returns how many workloads of each group roll, without one: a workload that rolls may roll again in its own place.
func (c *Crowd) rolling(all iter.Seq[Peer], except reloader.WorkloadRef) map[string]int {
	rolling := map[string]int{}
	for p := range all {
		if p.Rolls() && p.Workload.Ref() != except {
			c.count(p.Workload, rolling)
		}
	}
	return rolling
}

func (c *Crowd) count(w *workload.Workload, rolling map[string]int) {
	for _, group := range c.Groups(w) {
		rolling[group]++
	}
}

// takes reports whether all groups of a workload have room for it.
func (c *Crowd) takes(w *workload.Workload, rolling map[string]int, room int) bool {
	return !slices.ContainsFunc(c.Groups(w), func(group string) bool { return rolling[group] >= room })
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
	for _, windows := range [][]control.Window{common, t.Asks.Windows} {
		if opening := control.Opening(windows, now); !opening.Equal(now) {
			return &reloader.Hold{Due: opening}
		}
	}
	return nil
}

func tooSoon(t Turn, _ Peers, _ control.Control, now time.Time) *reloader.Hold {
	return until(t.Pace.last(now).Add(t.Interval()), now)
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
	for _, c := range p.configs() {
		s := p.Steps[c]
		if s.Failed == nil {
			continue
		}
		message := fmt.Sprintf("the reload of %s for %s has stalled", s.Failed, c)
		if s.Before != "" {
			message += "; the content before was " + s.Before
		}
		return &reloader.Hold{Message: message}
	}
	return nil
}

func waitingForStep(_ Turn, p Peers, _ control.Control, _ time.Time) *reloader.Hold {
	for _, c := range p.configs() {
		if s := p.Steps[c]; s.Failed == nil && s.Free() <= 0 {
			return &reloader.Hold{Message: c.String()}
		}
	}
	return nil
}

// concurrent has all workloads in one group.
var concurrent = &Crowd{func(l Limits) int { return l.Concurrent }, func(*workload.Workload) []string { return []string{""} }}

func rateLimited(t Turn, p Peers, _ control.Control, now time.Time) *reloader.Hold {
	slot, _ := place(t, p.Line, now)
	return until(slot.At, now)
}

// until holds back until a time; it does not if that time has come.
func until(due, now time.Time) *reloader.Hold {
	if !due.After(now) {
		return nil
	}
	return &reloader.Hold{Due: due}
}

// configs returns the configs of the steps, sorted.
func (p Peers) configs() []reloader.Config {
	return slices.SortedFunc(maps.Keys(p.Steps), reloader.Config.Compare)
}
