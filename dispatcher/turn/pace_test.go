package turn_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
)

// TestFlapping: two controllers overwrite each other's content every 30 s for a day. The limit goes through, and then a few rolls an hour. A
// process that starts before each decision, with Pace alone, makes the same ones.
func TestFlapping(t *testing.T) {
	w := turn.Turn{Workload: web, Limits: turn.Limits{FlapLimit: 30}}
	rolls := 0
	for i := range 24 * 120 {
		now := noon.Add(time.Duration(i) * 30 * time.Second)
		restarted := turn.Turn{Workload: web, Limits: w.Limits, Pace: turn.Pace{Rolls: w.Pace.Rolls, At: w.Pace.At.Round(0)}}
		hold, again := turn.Decide(w, turn.Peers{}, control.Control{}, now).Hold, turn.Decide(restarted, turn.Peers{}, control.Control{}, now).Hold
		if hold == nil != (again == nil) || hold != nil && *hold != *again {
			t.Fatalf("after a restart held by %+v, before by %+v", again, hold)
		}
		if hold == nil {
			w = rolled(w, nil, now, now)
			rolls++
		}
	}
	if rolls < 30 || rolls > 30+24*5 {
		t.Errorf("%d rolls in a day, want the 30 that are let go, and a few an hour", rolls)
	}
	if hold := turn.Decide(w, turn.Peers{}, control.Control{}, w.Pace.At.Add(time.Hour)).Hold; hold != nil {
		t.Errorf("an hour after the last roll held by %+v", hold)
	}
}

// FuzzPace: a pace that was edited by hand holds a workload back for an hour at most, and is forgotten.
func FuzzPace(f *testing.F) {
	f.Add(30.0, int64(0), 10)
	f.Add(math.Inf(1), int64(math.MinInt64), 0)
	f.Add(math.NaN(), int64(math.MaxInt64), -1)
	f.Fuzz(func(t *testing.T, rolls float64, at int64, limit int) {
		w := turn.Turn{Workload: web, Limits: turn.Limits{FlapLimit: limit}, Pace: turn.Pace{Rolls: rolls, At: time.Unix(at, 0)}}
		if hold := turn.Decide(w, turn.Peers{}, control.Control{}, noon).Hold; hold != nil && hold.Due.After(noon.Add(time.Hour)) {
			t.Errorf("held until %s", hold.Due)
		}
		if p := w.Pace.Rolled(noon); !(p.Rolls >= 1) || p.Rolls > 10_001 || !p.At.Equal(noon) {
			t.Errorf("after a roll: %+v", p)
		}
	})
}

// crowd is a number of workloads that are due, before processes that come and go.
type crowd struct {
	limits turn.Limits
	ns     string
	slots  []turn.Slot
	rolled []time.Time
}

func newCrowd(n int, namespace string, limits turn.Limits) *crowd {
	return &crowd{limits: limits, ns: namespace, slots: make([]turn.Slot, n), rolled: make([]time.Time, n)}
}

// pass decides about each workload that has not rolled, and returns the lines after that.
func (c *crowd) pass(t *testing.T, line turn.Line, control control.Control, now time.Time) turn.Line {
	for i := range c.slots {
		if !c.rolled[i].IsZero() {
			continue
		}
		w := turn.Turn{Workload: in(c.ns, fmt.Sprint(i)), Limits: c.limits, Slot: c.slots[i]}
		d := turn.Decide(w, turn.Peers{Line: line}, control, now)
		c.slots[i], line = d.Slot, d.Line
		if d.Hold == nil {
			c.rolled[i] = now
			continue
		}
		if d.Hold.Reason == reloader.ReasonLimited && !d.Hold.Due.After(now) {
			t.Fatalf("held until %s", d.Hold.Due.Sub(now))
		}
	}
	return line
}

// rolls returns how many rolled from a time on, within a duration.
func (c *crowd) rolls(from time.Time, within time.Duration) (n int) {
	for _, at := range c.rolled {
		if !at.IsZero() && !at.Before(from) && at.Before(from.Add(within)) {
			n++
		}
	}
	return n
}

// restart has a process begin that knows of each workload only when it rolled.
func (c *crowd) restart(now time.Time) turn.Line {
	clear(c.slots)
	rolled := slices.DeleteFunc(slices.Clone(c.rolled), time.Time.IsZero)
	return turn.Replay(c.limits.PerMinute, rolled, now)
}

// TestRates: many workloads go one after the other, a tenth of a minute's at once.
func TestRates(t *testing.T) {
	c := newCrowd(300, "shop", turn.Limits{PerMinute: 60})
	var line turn.Line
	for s := range 600 {
		line = c.pass(t, line, control.Control{}, after(float64(s)))
	}
	if n := c.rolls(noon, time.Second); n != 6 {
		t.Errorf("%d at once, want 6", n)
	}
	for s := range 300 {
		if n := c.rolls(after(float64(s)), time.Minute); n > 66 {
			t.Errorf("%d in the minute from %d s on", n, s)
		}
	}
	if n := c.rolls(noon, 296*time.Second); n != 300 {
		t.Errorf("%d rolled in time, want all", n)
	}
}

// TestRatesOverRestarts: a process that starts again and again lets no more go than the limit does.
func TestRatesOverRestarts(t *testing.T) {
	c := newCrowd(200, "shop", turn.Limits{PerMinute: 60})
	var line turn.Line
	for s := range 60 {
		if s%5 == 0 {
			line = c.restart(after(float64(s)))
		}
		line = c.pass(t, line, control.Control{}, after(float64(s)))
	}
	if n := c.rolls(noon, time.Minute); n < 60 || n > 66 {
		t.Errorf("%d rolls in a minute with twelve starts, want about 60", n)
	}
}

// TestRequestedRollsCount: a roll that a user requested does not wait for the rates, and the others wait for it.
func TestRequestedRollsCount(t *testing.T) {
	w := turn.Turn{Workload: web, Limits: turn.Limits{PerMinute: 1}, Requested: true}
	var line turn.Line
	for range 3 {
		d := turn.Decide(w, turn.Peers{Line: line}, control.Control{}, noon)
		if line = d.Line; d.Hold != nil {
			t.Fatalf("held by %+v", d.Hold)
		}
	}
	w.Requested = false
	if hold := turn.Decide(w, turn.Peers{Line: line}, control.Control{}, noon).Hold; hold == nil || !hold.Due.Equal(noon.Add(3*time.Minute)) {
		t.Errorf("held by %+v", hold)
	}
}
