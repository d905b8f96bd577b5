package dispatcher

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// advance is how far the latest change of a config has come among the workloads that depend on it. It is counted anew whenever somebody asks,
// from what is on record about each of them, so that it survives every process.
type advance struct {
	// waiting have not been given the change, of which going are about to be.
	waiting, going int
	// reached have been given it, and of ended it is known what came of it.
	reached, ended int
	// failed is one on which it did not roll out; nil if there is none.
	failed *tracked
}

// free returns how many more workloads may be given the change now.
func (a advance) free() int {
	if a.failed != nil {
		return 0
	}
	return control.StepEnd(a.reached+a.waiting, a.ended) - a.reached - a.going
}

// advanced counts how far the latest change of c has come. A workload whose rollout has stalled does not count once somebody asks for another try
// of it. Where a workload itself says that it was brought to the change, no clock is asked whether it was. The caller holds mu.
func (d *Dispatcher) advanced(c reloader.Config) advance {
	latest := d.latest[c].Change
	var a advance
	entry := broughtEntry(latest)
	for _, t := range d.index.byConfig[c] {
		h, brought := t.handled[c], begun(t.w, entry)
		current := t.pending[c] == nil && h.How != "" && h.Sum == sumAfter(latest)
		switch {
		case t.pending[c] != nil, brought && !current:
			a.waiting++
			if t.going || brought && !t.hold.DeadLetter() {
				a.going++
			}
		case !current, !t.rollout.ended() && d.insists(t): // its generation grows by the annotation, so that it rolls for a moment
		case !brought && (h.At.Before(latest.VerifiedAt) || h.How != reloader.ReasonReloaded): // it came to this content by itself, or before
		default:
			a.reached++
			if t.rollout.ended() {
				a.ended++
			}
			if t.rollout.stalled() && (a.failed == nil || compareRefs(t.w.Ref(), a.failed.w.Ref()) < 0) {
				a.failed = t
			}
		}
	}
	return a
}

// begun reports whether w says that it was brought to a change, by its entry. If it is on record that w waits for that change, then somebody
// patched it who ended before saying so.
func begun(w *workload.Workload, entry string) bool {
	return strings.Contains(w.Annotations[BroughtAnnotation], entry) || w.Via != nil && begun(w.Via, entry)
}

// denial is that nobody else may be given the latest change of a config. It is believed for as long as a hold is, so that many who wait are
// not counted for each of them.
type denial struct {
	change string
	at     time.Time
	failed *tracked
	// over says that something has happened since.
	over bool
}

// inStep returns why t has to wait for the rollouts of others; nil if it has not. The caller holds mu.
func (d *Dispatcher) inStep(t *tracked, now time.Time) *reloader.Hold {
	if !d.inSteps() || t.going {
		return nil
	}
	for _, c := range slices.SortedFunc(maps.Keys(t.pending), compareConfigs) {
		if begun(t.w, broughtEntry(d.latest[c].Change)) {
			continue
		}
		denied, failed := d.deny(c, now)
		switch {
		case failed != nil && d.insists(t): // it is tried all the same
		case failed != nil:
			return &reloader.Hold{Reason: reloader.ReasonHalted, Message: fmt.Sprintf("%s: the rollout of %s has stalled; the content before was %s",
				c, failed.w.Ref(), t.pending[c].changes[0].Old.Short())}
		case denied:
			return &reloader.Hold{Reason: reloader.ReasonWaitingForStep, Message: c.String()}
		}
	}
	return nil
}

// deny reports whether nobody else may be given the latest change of c now, and on whom it did not roll out. The caller holds mu.
func (d *Dispatcher) deny(c reloader.Config, now time.Time) (denied bool, failed *tracked) {
	latest := d.latest[c].Change.ID
	if known, ok := d.denials[c]; ok && !known.over && known.change == latest && now.Sub(known.at) < longestHold {
		return true, known.failed
	}
	a := d.advanced(c)
	if a.free() > 0 {
		return false, nil
	}
	d.denials[c] = denial{change: latest, at: now, failed: a.failed}
	return true, a.failed
}

// inSteps reports whether changes go out in steps: nothing is followed where we do not roll ourselves.
func (d *Dispatcher) inSteps() bool {
	return d.HaltOnFailedRollouts && d.instead() == reloader.ReasonReloaded
}

// nextAfter has those tried that may go now that something has become of t. The others look again by themselves within a minute.
// The caller holds mu.
func (d *Dispatcher) nextAfter(t *tracked) {
	d.nextStep(t)
	d.nextOfCrowd()
}

// nextStep is nextAfter for those who wait for a step of the same change. The caller holds mu.
func (d *Dispatcher) nextStep(t *tracked) {
	for c := range t.edges {
		known, denied := d.denials[c]
		if !denied {
			continue
		}
		a := d.advanced(c)
		if a.waiting == a.going {
			delete(d.denials, c)
			continue
		}
		known.over = true
		d.denials[c] = known
		free := a.free()
		for ref, other := range d.index.byConfig[c] {
			if free > 0 && other.pending[c] != nil && !other.going && other.hold.ForOthers() {
				d.flushQ.Add(ref)
				free--
			}
		}
	}
}
