package turn

import (
	"math"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

const (
	// firstFlapPause and longestFlapPause bound the pause after a roll beyond the flap limit.
	firstFlapPause, longestFlapPause = time.Minute, time.Hour
	// paceTime is how long the count of a workload's rolls takes to fall to 1/e.
	paceTime = 12 * time.Hour
	// clockSkew is how far the clock of another process may be ahead.
	clockSkew = 5 * time.Minute
	// maxRolls bounds Pace.Rolls, so that a wrong one is forgotten within days.
	maxRolls = 10_000
)

// Pace is how often a workload rolled lately: At is its last roll, and Rolls counts the rolls until then. A roll of twelve hours earlier counts 1/e,
// and older rolls count less. A process needs to know nothing else about the rolls of the processes before it.
type Pace struct {
	Rolls float64
	At    time.Time
}

// Rolled returns p after one more roll.
func (p Pace) Rolled(now time.Time) Pace { return Pace{Rolls: p.at(now) + 1, At: now} }

// Lately returns about how many rolls there were in the twelve hours before now.
func (p Pace) Lately(now time.Time) int { return int(math.Round(p.at(now))) }

// at returns what the count has fallen to.
func (p Pace) at(now time.Time) float64 {
	return p.rolls() * math.Exp(-max(0, now.Sub(p.At)).Seconds()/paceTime.Seconds())
}

// rolls returns the count within bounds, whatever an annotation that was edited by hand says.
func (p Pace) rolls() float64 {
	if p.Rolls > 0 {
		return min(p.Rolls, maxRolls)
	}
	return 0
}

// last returns when a workload with that pace rolled last; zero if At is too far in the future to be true.
func (p Pace) last(now time.Time) time.Time {
	if p.At.After(now.Add(clockSkew)) {
		return time.Time{}
	}
	return reloader.Earlier(p.At, now)
}

// flapPause returns how long a workload with that pace must not roll again.
func (p Pace) flapPause(limit int) time.Duration {
	beyond := p.rolls() - float64(limit)
	if limit <= 0 || beyond <= 0 {
		return 0
	}
	return time.Duration(min(float64(firstFlapPause)*math.Exp2(beyond), float64(longestFlapPause)))
}

// Line is how far the places of the rate are taken. The zero Line is empty.
type Line struct{ taken time.Time }

// Slot is the place of a workload in the line. At is when it may go; zero if it has no place.
type Slot struct {
	At time.Time
	// Braked reports whether another brake has held the workload back since it took its place. A place whose time comes meanwhile is lost, so
	// that the workloads that waited for a thaw do not go all at once.
	Braked bool
}

// Take returns l after one more workload took a place, and when that workload may go. A tenth of the rate may go at once.
func (l Line) Take(perMinute int, now time.Time) (Line, time.Time) {
	if perMinute <= 0 {
		return l, now
	}
	each := time.Minute / time.Duration(perMinute)
	l.taken = reloader.Later(l.taken, now).Add(each)
	return l, reloader.Later(now, l.taken.Add(-time.Duration(max(1, perMinute/10))*each))
}

// Replay returns the line of a process that starts. rolled are the times of the last rolls of all workloads of the line, by whichever process; those
// of the last minute count. So a process that restarts often does not begin a burst each time.
func Replay(perMinute int, rolled []time.Time, now time.Time) (l Line) {
	for _, at := range slices.SortedFunc(slices.Values(rolled), time.Time.Compare) {
		if at.After(now.Add(-time.Minute)) && !at.After(now) {
			l, _ = l.Take(perMinute, at)
		}
	}
	return l
}

// place returns the slot of t, and the line after t stands in it.
func place(t Turn, line Line, now time.Time) (Slot, Line) {
	s := t.Slot
	if s.Braked && !s.At.After(now) {
		s = Slot{}
	}
	s.Braked = false
	if s.At.IsZero() {
		line, s.At = line.Take(t.Limits.PerMinute, now)
	}
	return s, line
}
