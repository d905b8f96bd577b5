package dispatcher

import (
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
)

// Brakes hold back workloads that are otherwise due. The zero value holds back nothing. What is held stays pending, with the reason
// and, if known, when it is let go, in the workload's record.
type Brakes struct {
	// PerMinute and NamespacePerMinute are how many workloads roll in a minute, in all and in one namespace; 0 is any number. A tenth of
	// them may roll at once.
	PerMinute, NamespacePerMinute int
	// Concurrent and NamespaceConcurrent are how many workloads may be rolling out at a time, in all and in one namespace; 0 is any number.
	// Who has stalled, waits for somebody, or has no rollout that could be followed, does not count.
	Concurrent, NamespaceConcurrent int
	// MinInterval is the shortest time between two rolls of one workload.
	MinInterval time.Duration
	// FlapLimit is how many rolls of one workload in about twelve hours are taken for somebody's work. From there on the pause after each is
	// twice as long as the one before, from a minute up to an hour: two controllers that fight over a Secret never agree. 0 is any number.
	FlapLimit int
	// Windows are when workloads roll, unless the ConfigMap has others; always if there is none.
	Windows []control.Window
}

const (
	// firstFlapPause and longestFlapPause bound the pause after a roll beyond FlapLimit.
	firstFlapPause, longestFlapPause = time.Minute, time.Hour
	// paceTime is in which the pace of a workload's rolls falls to 1/e.
	paceTime = 12 * time.Hour
	// longestHold is how long a hold is believed without being looked at again: clocks are set, and freezes end.
	longestHold = time.Minute
)

// limiters are those of Brakes' rates. Dispatcher.mu guards them.
type limiters struct {
	all        *rate.Limiter
	namespaces map[string]*rate.Limiter
}

func perMinute(n int) *rate.Limiter {
	if n <= 0 {
		return rate.NewLimiter(rate.Inf, 1)
	}
	return rate.NewLimiter(rate.Every(time.Minute/time.Duration(n)), max(1, n/10))
}

// limiterOf returns the limiter of a namespace. The caller holds mu.
func (d *Dispatcher) limiterOf(namespace string) *rate.Limiter {
	limiter := d.limiters.namespaces[namespace]
	if limiter == nil {
		limiter = perMinute(d.Brakes.NamespacePerMinute)
		d.limiters.namespaces[namespace] = limiter
	}
	return limiter
}

// SetControl tells the dispatcher what those who run the cluster want held back.
func (d *Dispatcher) SetControl(c control.Control) {
	if c.Problem != "" {
		d.Logger.Warn("faulty control", "problem", c.Problem)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if f, frozen := c.Freeze(time.Now()); frozen != d.frozen(time.Now()) {
		d.Logger.Warn("freeze", "frozen", frozen, "reason", f.Reason)
	}
	d.control = c
	clear(d.denials)
	for ref, t := range d.index.byRef {
		if len(t.pending) > 0 || d.asked(t) {
			d.flushQ.Add(ref)
		}
	}
}

func (d *Dispatcher) frozen(now time.Time) bool {
	_, frozen := d.control.Freeze(now)
	return frozen
}

// heldByOperator returns the freeze or pause that holds t back; nil if none does. The caller holds mu.
func (d *Dispatcher) heldByOperator(t *tracked, now time.Time) *reloader.Hold {
	if f, frozen := d.control.Freeze(now); frozen {
		return &reloader.Hold{Reason: reloader.ReasonFrozen, Message: f.Reason, Due: f.Until}
	}
	if p, paused := d.control.Paused(t.w.Namespace, t.w.Labels, now); paused {
		return &reloader.Hold{Reason: reloader.ReasonPausedByOperator, Message: p.Reason, Due: p.Until}
	}
	return nil
}

// brake returns why t, which is due, is held back nevertheless; nil if it is not. The caller holds mu.
func (d *Dispatcher) brake(t *tracked, now time.Time) *reloader.Hold {
	if hold := d.heldByOperator(t, now); hold != nil {
		return hold
	}
	for _, windows := range [][]control.Window{d.clusterWindows(), d.planOf(t.w).Chosen.Maintenance} {
		if opening := control.Opening(windows, now); !opening.Equal(now) {
			return &reloader.Hold{Reason: reloader.ReasonOutsideWindow, Due: opening}
		}
	}
	interval := max(d.planOf(t.w).Chosen.MinInterval, d.Brakes.MinInterval)
	last := lastRoll(t.pace, now)
	if due := last.Add(interval); due.After(now) {
		return &reloader.Hold{Reason: reloader.ReasonTooSoon, Due: due}
	}
	if due := last.Add(flapPause(t.pace, d.Brakes.FlapLimit)); due.After(now) {
		return &reloader.Hold{Reason: reloader.ReasonFlapping, Due: due}
	}
	if hold := d.inStep(t, now); hold != nil {
		return hold
	}
	if hold := d.crowded(t); hold != nil {
		return hold
	}
	if due := d.takeSlot(t, now); due.After(now) {
		return &reloader.Hold{Reason: reloader.ReasonRateLimited, Due: due}
	}
	return nil
}

// clusterWindows are when workloads roll, unless they say otherwise: those of the ConfigMap, or else those of the installation. The caller holds mu.
func (d *Dispatcher) clusterWindows() []control.Window {
	if len(d.control.Windows) > 0 {
		return d.control.Windows
	}
	return d.Brakes.Windows
}

// slot is when the rate limits let a workload go: that of its namespace, and from then on that of all; zero if it has not asked yet.
type slot struct{ namespace, all time.Time }

// last returns the later one that is known.
func (s slot) last() time.Time {
	if s.all.IsZero() {
		return s.namespace
	}
	return s.all
}

// takeSlot returns when the rate limits let t go, as far as that is known. A workload takes its place in the line of its namespace, and when
// its turn has come there, in that of all, where it so takes none from other namespaces before it may go. It keeps each place until it is
// flushed, unless something else held it back when its turn came: those who waited for a thaw do not go all at once. The caller holds mu.
func (d *Dispatcher) takeSlot(t *tracked, now time.Time) time.Time {
	elsewhere := t.hold != nil && t.hold.Reason != reloader.ReasonRateLimited && t.hold.Attempts == 0
	if elsewhere && !t.slot.last().After(now) {
		t.slot = slot{}
	}
	if t.slot.namespace.IsZero() {
		t.slot.namespace = now.Add(d.limiterOf(t.w.Namespace).ReserveN(now, 1).DelayFrom(now))
	}
	if t.slot.all.IsZero() && !t.slot.namespace.After(now) {
		t.slot.all = now.Add(d.limiters.all.ReserveN(now, 1).DelayFrom(now))
	}
	return t.slot.last()
}

// lastRoll returns when a workload with that pace rolled last; zero if the clock by which it did was so far ahead that nobody knows.
func lastRoll(p reloader.Pace, now time.Time) time.Time {
	if p.At.After(now.Add(clockSkew)) {
		return time.Time{}
	}
	return earlier(p.At, now)
}

// flapPause returns how long a workload with that pace must not roll again.
func flapPause(p reloader.Pace, limit int) time.Duration {
	beyond := p.Rolls - float64(limit)
	if limit <= 0 || beyond <= 0 {
		return 0
	}
	return time.Duration(min(float64(firstFlapPause)*math.Exp2(beyond), float64(longestFlapPause)))
}

// paced returns p after one more roll.
func paced(p reloader.Pace, now time.Time) reloader.Pace {
	age := max(0, now.Sub(p.At))
	return reloader.Pace{Rolls: p.Rolls*math.Exp(-age.Seconds()/paceTime.Seconds()) + 1, At: now}
}

// holdByBrake has t wait for a brake, and returns how long to wait before looking again. A dead letter stays one: what is wrong with it, and
// since when, does not change while it is not tried. The caller holds mu.
func (d *Dispatcher) holdByBrake(t *tracked, hold *reloader.Hold, now time.Time) time.Duration {
	if !t.hold.DeadLetter() {
		return d.holdFor(t, hold, now)
	}
	if hold.Reason != reloader.ReasonRateLimited && !t.slot.last().After(now) {
		t.slot = slot{} // its turn has come and gone
	}
	d.stand(t)
	return untilDue(hold, now)
}

// holdFor has t wait for what holds it back, and returns how long to wait before looking again. The caller holds mu.
func (d *Dispatcher) holdFor(t *tracked, hold *reloader.Hold, now time.Time) time.Duration {
	if t.hold != nil && t.hold.Attempts > 0 {
		t.was = t.hold
	}
	if t.hold == nil || t.hold.Reason != hold.Reason || t.hold.Message != hold.Message || !t.hold.Due.Equal(hold.Due) {
		hold.Since = now
		if t.hold != nil && t.hold.Reason == hold.Reason {
			hold.Since = t.hold.Since
		} else {
			d.metrics.heldBack(hold.Reason)
		}
		t.hold = hold
		d.settleQ.Add(t.w.Ref())
	}
	d.stand(t)
	return untilDue(hold, now)
}

// stand takes note that t is not about to roll any more, and lets those go that wait for its place. The caller holds mu.
func (d *Dispatcher) stand(t *tracked) {
	if t.going {
		t.going = false
		d.nextAfter(t)
	}
}

func untilDue(hold *reloader.Hold, now time.Time) time.Duration {
	if hold.Due.IsZero() {
		return longestHold
	}
	return max(time.Millisecond, min(hold.Due.Sub(now), longestHold))
}
