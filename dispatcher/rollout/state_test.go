package rollout_test

import (
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/rollout"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// TestMessages: a result other than RolledOut has its reason.
func TestMessages(t *testing.T) {
	why := workload.Progress{Phase: workload.Stalled, Why: "its progress deadline is exceeded", Observed: true, Revision: "2"}
	begun := rollout.Begin(workload.Progress{Phase: workload.RolledOut, Observed: true, Revision: "1"}, noon)
	for want, s := range map[string]rollout.Seen{
		"its progress deadline is exceeded":                         {Progress: why, Marked: true},
		"its controller has not seen the template within 10m0s":     {Marked: true},
		"its controller has begun no rollout within 10m0s":          {Marked: true, Progress: workload.Progress{Phase: workload.RolledOut, Observed: true, Revision: "1"}},
		"it has not rolled out within 10m0s":                        {Marked: true, Progress: workload.Progress{Phase: workload.Rolling, Observed: true, Revision: "2"}},
		"its template does not have the mark of this roll any more": {Progress: why},
		"it is paused: spec.paused":                                 {Marked: true, Progress: workload.Progress{Phase: workload.Waiting, Why: "it is paused: spec.paused", Observed: true}},
	} {
		r, next := begun.See(s, deadline, noon.Add(deadline))
		if r.State.Message != want || !r.State.EndedAt.Equal(noon.Add(deadline)) || !next.IsZero() {
			t.Errorf("state %+v, next %s; want %q", r.State, next, want)
		}
	}
	if r, next := begun.See(rollout.Seen{Marked: true}, 0, noon.Add(100*deadline)); r.State.Result != rolling || !next.IsZero() {
		t.Errorf("without a deadline: %+v, next %s", r.State, next)
	}
}

func TestOvertake(t *testing.T) {
	for result, want := range map[reloader.Reason]reloader.Reason{
		rolling: overtaken, waiting: overtaken, rolledOut: rolledOut, stalled: stalled, overtaken: overtaken,
	} {
		r := rollout.Resume(reloader.Rollout{Result: result, Message: "before", StartedAt: noon}, noon).Overtake("another reload followed", noon)
		if r.State.Result != want || (result == rolling || result == waiting) != strings.Contains(r.State.Message, "another reload") {
			t.Errorf("%s: %+v", result, r.State)
		}
	}
}

// TestResume: a roll without a record begins with its time, and a time in the future counts as now.
func TestResume(t *testing.T) {
	r := rollout.Resume(reloader.Rollout{StartedAt: noon.Add(24 * time.Hour)}, noon)
	if r.State.Result != rolling || !r.State.StartedAt.Equal(noon) {
		t.Errorf("state %+v", r.State)
	}
}
