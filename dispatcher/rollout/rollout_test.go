package rollout_test

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/rollout"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// TestManual: the pods of a DeploymentConfig without a trigger are all of its newest rollout, which is not that of the mark. Nothing rolls out before
// somebody starts it, whatever process looks.
func TestManual(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := func(phase workload.Phase, observed bool, revision string) workload.Progress {
		return workload.Progress{Phase: phase, Observed: observed, Revision: revision, Manual: workload.WhyManual}
	}
	waits := rollout.End{Result: reloader.ReasonWaitingForOperator, Message: workload.WhyManual}
	for name, before := range map[string]workload.Progress{
		"rolled out": at(workload.RolledOut, true, "1"), "not seen yet": at(workload.Rolling, false, "1"), "waiting": at(workload.Waiting, true, "1"),
	} {
		r := rollout.Of(reloader.Reload{ID: "r-1", PatchedAt: now}, before, now)
		if end, _ := r.Watch(at(workload.Rolling, false, "1"), false, now); end != (rollout.End{}) {
			t.Errorf("%s: before the controller has seen it: %+v", name, end)
		}
		end, _ := r.Watch(at(workload.RolledOut, true, "1"), false, now)
		if end != waits {
			t.Errorf("%s: %+v, want %+v", name, end, waits)
		}
		r.State.Result = end.Result
		next := rollout.Recorded("r-1", r.State, now)
		for who, r := range map[string]*rollout.Rollout{"the same process": r, "the next process": next} {
			if end, _ := r.Watch(at(workload.RolledOut, true, "1"), false, now); end != (rollout.End{}) {
				t.Errorf("%s, %s: %+v, though nothing has happened", name, who, end)
			}
			if end, _ := r.Watch(at(workload.RolledOut, true, "2"), false, now); end.Result != reloader.ReasonRolledOut {
				t.Errorf("%s, %s: %+v after somebody has started it", name, who, end)
			}
		}
	}
}
