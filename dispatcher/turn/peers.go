package turn

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Peers is what a workload must know of the others.
type Peers struct {
	// Steps has, for each config that the workload waits for, how far its newest write has come. It is empty if changes do not go out in steps.
	Steps reloader.ByConfig[Step]
	// All are all workloads. Only brakes that count them ask for it.
	All iter.Seq[Peer]
}

// Peer is one workload as the others see it. Its answers come from its state and its progress, and from no clock.
type Peer struct {
	Workload *workload.Workload
	// Behind reports whether it does not have the newest write of the config. Going reports whether it is being patched.
	Behind, Going bool
	// How is how it came to the newest write: Reloaded, Called, PodsNewer, Baseline and so on.
	How reloader.Reason
	// Rollout is how far the rollout of its template is: Rolling, Stalled or another one; empty if Reroll follows none.
	Rollout reloader.Reason
	// Retry reports whether reroll.dev/retry has a value that has not been served.
	Retry bool
	// Pace is how often it rolled lately.
	Pace Pace
	// Hold is why it waits; nil if it does not.
	Hold *reloader.Hold
}

// Step is how far the newest write of a config has come among the workloads that depend on it.
type Step struct {
	// Waiting workloads do not have the write; Going of them are being patched.
	Waiting, Going int
	// Reached workloads have it; the rollouts of Ended of them are over.
	Reached, Ended int
	// Failed is the first workload on which it did not roll out; nil if there is none.
	Failed *reloader.WorkloadRef
}

// Count returns how far a write has come among the dependents of its config. A workload that came to the write by itself counts once its pods
// are healthy. A workload whose rollout has not ended and that a user retries does
// not count, so that the others continue.
func Count(dependents iter.Seq[Peer]) (s Step) {
	for p := range dependents {
		ended := p.Rollout != reloader.ReasonRolling && p.Rollout != reloader.ReasonStalled
		switch {
		case p.Behind:
			s.Waiting++
			if p.Going {
				s.Going++
			}
			if p.Hold != nil && p.Hold.Reason == reloader.ReasonReloadFailed && !p.Retry { // its pods could not take the write
				s.fail(p)
			}
		case !ended && p.Retry:
		case p.How == reloader.ReasonReloaded, slices.Contains(reloader.HotReasons, p.How), p.How == reloader.ReasonPodsNewer && ended:
			s.Reached++
			if ended {
				s.Ended++
			}
			if p.Rollout == reloader.ReasonStalled {
				s.fail(p)
			}
		}
	}
	return s
}

func (s *Step) fail(p Peer) {
	if ref := p.Workload.Ref(); s.Failed == nil || compare(ref, *s.Failed) < 0 {
		s.Failed = &ref
	}
}

// Free returns how many more workloads may be given the write now: none after a rollout failed.
func (s Step) Free() int {
	if s.Failed != nil {
		return 0
	}
	return control.StepEnd(s.Reached+s.Waiting, s.Ended) - s.Reached - s.Going
}

// NextInStep returns the dependents of a config that the caller decides about again after its step has changed: those held longest, as many as are
// free.
func NextInStep(dependents iter.Seq[Peer]) []reloader.WorkloadRef {
	return longest(dependents, Count(dependents).Free(), reloader.ReasonWaitingForStep, reloader.ReasonHalted)
}

// NextInCrowd returns the workloads that the caller decides about again when fewer roll: those held longest since too many rolled, as many as there is
// room for.
func NextInCrowd(l Limits, all iter.Seq[Peer]) []reloader.WorkloadRef {
	if l.Concurrent <= 0 {
		return nil
	}
	return longest(all, l.Concurrent-rolling(all, reloader.WorkloadRef{}), reloader.ReasonLimited)
}

// rolling returns how many workloads roll, without one. A workload that has stalled, waits for an operator, or whose rollout is not followed does not.
func rolling(all iter.Seq[Peer], except reloader.WorkloadRef) (n int) {
	for p := range all {
		if (p.Going || p.Rollout == reloader.ReasonRolling) && p.Workload.Ref() != except {
			n++
		}
	}
	return n
}

// longest returns those that waited longest of those held for one of some reasons until a time that is not known, n at most.
func longest(all iter.Seq[Peer], n int, reasons ...reloader.Reason) (next []reloader.WorkloadRef) {
	if n <= 0 {
		return nil
	}
	var held []Peer
	for p := range all {
		if p.Hold != nil && p.Hold.Due.IsZero() && slices.Contains(reasons, p.Hold.Reason) {
			held = append(held, p)
		}
	}
	slices.SortFunc(held, func(a, b Peer) int {
		return cmp.Or(a.Hold.Since.Compare(b.Hold.Since), compare(a.Workload.Ref(), b.Workload.Ref()))
	})
	for _, p := range held[:min(len(held), n)] {
		next = append(next, p.Workload.Ref())
	}
	return next
}

func compare(a, b reloader.WorkloadRef) int { return strings.Compare(a.String(), b.String()) }
