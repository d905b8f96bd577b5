package rollout_test

import (
	"slices"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/rollout"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

const (
	rolling   = reloader.ReasonRolling
	rolledOut = reloader.ReasonRolledOut
	stalled   = reloader.ReasonStalled
	waiting   = reloader.ReasonWaitingForOperator
	overtaken = reloader.ReasonOvertaken

	deadline = 10 * time.Minute
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// world follows one workload. Its clock moves by a second with each update.
type world struct {
	t       *testing.T
	rollout rollout.Rollout
	seen    rollout.Seen
	now     time.Time
	// next is when See is to be called without an update, and results are what was decided.
	next    time.Time
	results []reloader.Reason
}

// begin rolls a workload of that progress.
func begin(t *testing.T, before workload.Progress) *world {
	return &world{
		t: t, rollout: rollout.Begin(before, noon), now: noon,
		seen: rollout.Seen{Progress: workload.Progress{Phase: workload.Rolling, Revision: before.Revision, Timed: before.Timed}, Marked: true},
	}
}

func (w *world) see() {
	before := w.rollout
	w.rollout, w.next = w.rollout.See(w.seen, deadline, w.now)
	if w.rollout.State.Result != before.State.Result {
		w.results = append(w.results, w.rollout.State.Result)
	}
	if s := w.rollout.State; s.StartedAt.IsZero() || (s.Result == rolling) != s.EndedAt.IsZero() || !s.EndedAt.IsZero() && s.EndedAt.Before(s.StartedAt) {
		w.t.Errorf("state %+v", s)
	}
	if again, _ := w.rollout.See(w.seen, deadline, w.now); again != w.rollout {
		w.t.Errorf("the same update again: %+v, then %+v", w.rollout, again)
	}
}

// say has the controller report a phase of the newest template, in a revision.
func (w *world) say(revision string, phase workload.Phase) {
	w.now = w.now.Add(time.Second)
	w.seen.Progress.Observed, w.seen.Progress.Revision, w.seen.Progress.Phase = true, revision, phase
	w.see()
}

// change has somebody change the spec, which the controller has not seen yet.
func (w *world) change() {
	w.now = w.now.Add(time.Second)
	w.seen.Progress.Observed, w.seen.Progress.Phase = false, workload.Rolling
	w.see()
}

// pass lets time pass without updates.
func (w *world) pass(d time.Duration) {
	end := w.now.Add(d)
	for !w.next.IsZero() && !w.next.After(end) {
		w.now = w.next
		w.see()
	}
	w.now = end
}

// restart has another process go on with what is on record.
func (w *world) restart() {
	w.rollout = rollout.Resume(w.rollout.State, w.now)
	w.see()
}

func TestRollout(t *testing.T) {
	one := workload.Progress{Phase: workload.RolledOut, Observed: true, Revision: "1"}
	for name, c := range map[string]struct {
		reason string
		before workload.Progress
		after  func(w *world)
		want   []reloader.Reason
	}{
		"it rolls out":    {"the usual", one, func(w *world) { w.say("2", workload.Rolling); w.say("2", workload.RolledOut) }, []reloader.Reason{rolledOut}},
		"it is under way": {"nothing is decided", one, func(w *world) { w.say("2", workload.Rolling) }, nil},
		"not begun":       {"the pods are all of the revision before", one, func(w *world) { w.say("1", workload.RolledOut) }, nil},
		"without revisions": {
			"the kind has none",
			workload.Progress{Phase: workload.RolledOut, Observed: true},
			func(w *world) { w.say("", workload.RolledOut) },
			[]reloader.Reason{rolledOut},
		},
		"a revision that goes": {"nothing speaks against it", one, func(w *world) { w.say("", workload.RolledOut) }, []reloader.Reason{rolledOut}},
		"it stalls":            {"its own deadline has passed", one, func(w *world) { w.say("2", workload.Stalled) }, []reloader.Reason{stalled}},
		"it stalls, and rolls out": {
			"a node came back", one,
			func(w *world) {
				w.say("2", workload.Stalled)
				w.say("2", workload.Rolling)
				w.say("2", workload.RolledOut)
			},
			[]reloader.Reason{stalled, rolledOut},
		},
		"it stalls, and is fixed": {
			"that it failed stays on record", one,
			func(w *world) { w.say("2", workload.Stalled); w.change(); w.say("3", workload.RolledOut) },
			[]reloader.Reason{stalled},
		},
		"it stalls, and is rolled back": {
			"that it failed stays on record", one,
			func(w *world) { w.say("2", workload.Stalled); w.seen.Marked = false; w.say("3", workload.RolledOut) },
			[]reloader.Reason{stalled},
		},
		"another template": {
			"a deployment in the middle of ours", one,
			func(w *world) { w.say("2", workload.Rolling); w.change(); w.say("3", workload.Rolling) },
			[]reloader.Reason{overtaken},
		},
		"rolled back": {
			"the pods may be those with the content of before", one,
			func(w *world) { w.say("2", workload.Rolling); w.seen.Marked = false; w.say("3", workload.RolledOut) },
			[]reloader.Reason{overtaken},
		},
		"rolled back, by a process that did not see it begin": {
			"the mark alone says it", one,
			func(w *world) { w.seen.Marked = false; w.restart() },
			[]reloader.Reason{overtaken},
		},
		"somebody scales it": {
			"another generation is not another template", one,
			func(w *world) { w.say("2", workload.Rolling); w.change(); w.say("2", workload.RolledOut) },
			[]reloader.Reason{rolledOut},
		},
		"rolled during a pause": {
			"what is paused gets no revision, however long it is",
			workload.Progress{Phase: workload.Waiting, Observed: true, Revision: "1"},
			func(w *world) { w.say("1", workload.RolledOut) },
			[]reloader.Reason{rolledOut},
		},
		"rolled during a pause, and stalls": {
			"the revision that is seen during a pause is that of before",
			workload.Progress{Phase: workload.Waiting, Observed: true, Revision: "1"},
			func(w *world) {
				w.say("1", workload.Waiting)
				w.say("2", workload.Rolling)
				w.say("2", workload.Stalled)
			},
			[]reloader.Reason{waiting, rolling, stalled},
		},
		"a restart during a pause": {
			"so it is for the next process", one,
			func(w *world) {
				w.say("1", workload.Waiting)
				w.restart()
				w.say("2", workload.Rolling)
				w.say("2", workload.RolledOut)
			},
			[]reloader.Reason{waiting, rolling, rolledOut},
		},
		"a restart after it rolled out": {
			"the next process finds what the process before did not see", one,
			func(w *world) { w.seen.Progress = one; w.seen.Progress.Revision = "2"; w.restart() },
			[]reloader.Reason{rolledOut},
		},
		"a restart, and the deadline": {
			"it is the old one", one,
			func(w *world) {
				w.say("2", workload.Rolling)
				w.pass(deadline - time.Minute)
				w.restart()
				w.pass(2 * time.Minute)
			},
			[]reloader.Reason{stalled},
		},
		"nothing begins": {
			"its controller leaves it at the revision that there was", one,
			func(w *world) { w.say("1", workload.RolledOut); w.pass(deadline) },
			[]reloader.Reason{waiting},
		},
		"nothing begins, and then it does": {
			"somebody starts the rollout", one,
			func(w *world) {
				w.say("1", workload.RolledOut)
				w.pass(deadline)
				w.say("2", workload.Rolling)
				w.say("2", workload.RolledOut)
			},
			[]reloader.Reason{waiting, rolling, rolledOut},
		},
		"it waited, and stalls": {
			"from when it continues it has its time", one,
			func(w *world) {
				w.say("1", workload.Waiting)
				w.pass(deadline * 2)
				w.change()
				w.say("2", workload.Rolling)
				w.pass(deadline - time.Minute)
				if w.rollout.State.Result != rolling || w.rollout.State.Message != "" {
					w.t.Errorf("state %+v", w.rollout.State)
				}
				w.pass(time.Minute)
			},
			[]reloader.Reason{waiting, rolling, stalled},
		},
		"the deadline": {"nothing else gives it up", one, func(w *world) { w.say("2", workload.Rolling); w.pass(deadline) }, []reloader.Reason{stalled}},
		"a deadline of its own": {
			"it may take hours", one,
			func(w *world) { w.seen.Progress.Timed = true; w.say("2", workload.Rolling); w.pass(deadline * 2) },
			nil,
		},
		"no controller": {
			"its own deadline never passes", one,
			func(w *world) { w.seen.Progress.Timed = true; w.change(); w.pass(deadline) },
			[]reloader.Reason{stalled},
		},
		"a pause period": {
			"Reroll itself ends it, and from then on the rollout has its time", one,
			func(w *world) {
				w.seen.Paused = true
				w.say("1", workload.Waiting)
				w.pass(deadline * 3)
				w.seen.Paused = false
				w.say("2", workload.Rolling)
				w.pass(deadline - time.Minute)
				w.say("2", workload.RolledOut)
			},
			[]reloader.Reason{rolledOut},
		},
		"a pause period, and it stalls": {
			"nothing else gives it up", one,
			func(w *world) {
				w.seen.Paused = true
				w.say("1", workload.Waiting)
				w.pass(deadline)
				w.seen.Paused = false
				w.say("2", workload.Rolling)
				w.pass(deadline)
			},
			[]reloader.Reason{stalled},
		},
		"over": {
			"a rollout that has ended does not begin again", one,
			func(w *world) {
				w.say("2", workload.RolledOut)
				w.say("2", workload.Stalled)
				w.seen.Marked = false
				w.say("3", workload.Rolling)
			},
			[]reloader.Reason{rolledOut},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, c.before)
			w.see()
			if c.after(w); !slices.Equal(w.results, c.want) {
				t.Errorf("%v, want %v, because %s", w.results, c.want, c.reason)
			}
			if over := w.rollout.Over(); over != (w.rollout.State.Result == rolledOut || w.rollout.State.Result == overtaken) {
				t.Errorf("over: %v with %+v", over, w.rollout.State)
			}
		})
	}
}
