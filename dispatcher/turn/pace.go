package turn

import (
	"math"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

const (
	// firstFlapPause and longestFlapPause bound the pause after a roll beyond the flap limit.
	firstFlapPause, longestFlapPause = time.Minute, time.Hour
	// paceTime is how long the count of a workload's rolls takes to fall to 1/e.
	paceTime = 12 * time.Hour
	// ClockSkew is how far the clock of another process may be ahead.
	ClockSkew = 5 * time.Minute
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
	return p.Rolls * math.Exp(-max(0, now.Sub(p.At)).Seconds()/paceTime.Seconds())
}

// last returns when a workload with that pace rolled last; zero if At is too far in the future to be true.
func (p Pace) last(now time.Time) time.Time {
	if p.At.After(now.Add(ClockSkew)) {
		return time.Time{}
	}
	return reloader.Earlier(p.At, now)
}

// flapPause returns how long a workload with that pace must not roll again.
func (p Pace) flapPause(limit int) time.Duration {
	beyond := p.Rolls - float64(limit)
	if limit <= 0 || beyond <= 0 {
		return 0
	}
	return time.Duration(min(float64(firstFlapPause)*math.Exp2(beyond), float64(longestFlapPause)))
}
