package control

import (
	"time"

	"github.com/robfig/cron/v3"
)

// wallClock tells when a clock on the wall shows the times of a schedule. Where it is put forward, a time that it skips is when it jumps; where
// it is put back, a time that it shows twice is the first of the two, unless the schedule has every hour.
type wallClock struct {
	schedule cron.Schedule
	// zone is where the wall is; time.Local is where the time that is asked about is.
	zone *time.Location
	// hourly says that every hour counts, also one that comes twice.
	hourly bool
}

// newWallClock returns the clock for five fields of cron.
func newWallClock(schedule cron.Schedule, hour string) wallClock {
	spec, ok := schedule.(*cron.SpecSchedule)
	if hour == "*" || !ok {
		return wallClock{schedule: schedule, hourly: true}
	}
	shown := *spec
	shown.Location = time.UTC // what the clock shows is told as if it was in UTC, where every time comes once
	return wallClock{schedule: &shown, zone: spec.Location}
}

// next returns when the schedule's next time after now is; zero if never.
func (c wallClock) next(now time.Time) time.Time {
	if c.hourly {
		return c.schedule.Next(now)
	}
	zone := c.zone
	if zone == time.Local {
		zone = now.Location()
	}
	for shown := c.schedule.Next(shownAt(now, zone)); !shown.IsZero(); shown = c.schedule.Next(shown) {
		if at := whenShown(shown, zone); at.After(now) {
			return at.In(now.Location())
		}
	}
	return time.Time{}
}

// shownAt returns what a clock in zone shows at t.
func shownAt(t time.Time, zone *time.Location) time.Time {
	_, offset := t.In(zone).Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// zoneTime is longer than any two zones are apart between which a clock is put forward or back.
const zoneTime = 6 * time.Hour

// whenShown returns when a clock in zone shows what it is asked for.
func whenShown(shown time.Time, zone *time.Location) time.Time {
	near := time.Date(shown.Year(), shown.Month(), shown.Day(), shown.Hour(), shown.Minute(), shown.Second(), 0, zone)
	_, before := near.Add(-zoneTime).Zone()
	_, after := near.Add(zoneTime).Zone()
	for _, offset := range []int{max(before, after), min(before, after)} { // the earlier time first
		if at := shown.Add(-time.Duration(offset) * time.Second); shownAt(at, zone).Equal(shown) {
			return at
		}
	}
	jump, _ := shown.Add(-time.Duration(before) * time.Second).In(zone).ZoneBounds()
	return jump
}
