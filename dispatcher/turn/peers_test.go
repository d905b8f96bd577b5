package turn_test

import (
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	kinds "github.com/reroll-dev/reroll/reloader/workload"
)

// TestCount: which workloads count, and as what.
func TestCount(t *testing.T) {
	for name, c := range map[string]struct {
		peer turn.Peer
		want turn.Step
	}{
		"behind":                     {turn.Peer{Behind: true, Rollout: reloader.ReasonStalled}, turn.Step{Waiting: 1}},
		"being patched":              {turn.Peer{Behind: true, Going: true}, turn.Step{Waiting: 1, Going: 1}},
		"could not reload":           {turn.Peer{Workload: web, Behind: true, Hold: &reloader.Hold{Reason: reloader.ReasonReloadFailed}}, turn.Step{Waiting: 1, Failed: &webRef}},
		"rolled":                     {turn.Peer{How: reloader.ReasonReloaded, Rollout: reloader.ReasonRolling}, turn.Step{Reached: 1}},
		"rolled out":                 {turn.Peer{How: reloader.ReasonReloaded, Rollout: reloader.ReasonRolledOut}, turn.Step{Reached: 1, Ended: 1}},
		"stalled":                    {turn.Peer{Workload: web, How: reloader.ReasonReloaded, Rollout: reloader.ReasonStalled}, turn.Step{Reached: 1, Failed: &webRef}},
		"stalled, and retried":       {turn.Peer{How: reloader.ReasonReloaded, Rollout: reloader.ReasonStalled, Retry: true}, turn.Step{}},
		"rolled out, and retried":    {turn.Peer{How: reloader.ReasonReloaded, Rollout: reloader.ReasonRolledOut, Retry: true}, turn.Step{Reached: 1, Ended: 1}},
		"overtaken":                  {turn.Peer{How: reloader.ReasonReloaded, Rollout: reloader.ReasonOvertaken}, turn.Step{Reached: 1, Ended: 1}},
		"waiting for an operator":    {turn.Peer{How: reloader.ReasonReloaded, Rollout: reloader.ReasonWaitingForOperator}, turn.Step{Reached: 1, Ended: 1}},
		"by itself, healthy":         {turn.Peer{How: reloader.ReasonPodsNewer}, turn.Step{Reached: 1, Ended: 1}},
		"by itself, stalled":         {turn.Peer{How: reloader.ReasonPodsNewer, Rollout: reloader.ReasonStalled}, turn.Step{}},
		"by itself, rolling":         {turn.Peer{How: reloader.ReasonPodsNewer, Rollout: reloader.ReasonRolling}, turn.Step{}},
		"it does not use the change": {turn.Peer{How: reloader.ReasonKeysUnused}, turn.Step{}},
		"its baseline":               {turn.Peer{How: reloader.ReasonBaseline}, turn.Step{}},
	} {
		got := turn.Count(slices.Values([]turn.Peer{c.peer}))
		if got.Waiting != c.want.Waiting || got.Going != c.want.Going || got.Reached != c.want.Reached || got.Ended != c.want.Ended || (got.Failed == nil) != (c.want.Failed == nil) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	var stalled []turn.Peer
	for _, name := range []string{"c", "a", "b"} {
		stalled = append(stalled, turn.Peer{Workload: workload(name), How: reloader.ReasonReloaded, Rollout: reloader.ReasonStalled})
	}
	if failed := turn.Count(slices.Values(stalled)).Failed; failed == nil || *failed != workload("a").Ref() {
		t.Errorf("failed on %v, want the first", failed)
	}
}

// TestNext: those that waited longest go next, as many as may.
func TestNext(t *testing.T) {
	elsewhere := in("other", "web")
	held := func(reason reloader.Reason, others ...turn.Peer) iter.Seq[turn.Peer] {
		for _, h := range []struct {
			workload *kinds.Workload
			since    time.Time
		}{{workload("late"), after(9)}, {workload("b"), after(3)}, {workload("a"), after(3)}, {elsewhere, after(5)}, {workload("first"), after(1)}} {
			others = append(others, turn.Peer{Workload: h.workload, Behind: true, Hold: &reloader.Hold{Reason: reason, Since: h.since}})
		}
		for _, h := range []reloader.Hold{{Reason: reloader.ReasonFrozen}, {Reason: reloader.ReasonLimited, Due: after(60)}} {
			others = append(others, turn.Peer{Workload: workload("held by another brake"), Behind: true, Hold: &h})
		}
		return slices.Values(others)
	}
	rolling := turn.Peer{Workload: workload("rolling"), Rollout: reloader.ReasonRolling}
	rolledOut := turn.Peer{Workload: workload("done"), How: reloader.ReasonReloaded, Rollout: reloader.ReasonRolledOut}
	stalled := turn.Peer{Workload: web, How: reloader.ReasonReloaded, Rollout: reloader.ReasonStalled}
	refs := func(names ...string) (of []reloader.WorkloadRef) {
		for _, name := range names {
			of = append(of, workload(name).Ref())
		}
		return of
	}
	crowd := func(room int) []reloader.WorkloadRef {
		return turn.NextInCrowd(turn.Limits{Concurrent: room}, held(reloader.ReasonLimited, rolling))
	}
	for name, c := range map[string]struct{ got, want []reloader.WorkloadRef }{
		"in step":         {turn.NextInStep(held(reloader.ReasonWaitingForStep, rolledOut)), refs("first")},
		"one is patched":  {turn.NextInStep(held(reloader.ReasonWaitingForStep, turn.Peer{Behind: true, Going: true})), nil},
		"halted":          {turn.NextInStep(held(reloader.ReasonHalted, stalled, rolledOut, rolledOut)), nil},
		"halted no more":  {turn.NextInStep(held(reloader.ReasonHalted, rolledOut)), refs("first")},
		"in a full crowd": {crowd(1), nil},
		"in a crowd":      {crowd(4), refs("first", "a", "b")},
		"without a limit": {crowd(0), nil},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}
