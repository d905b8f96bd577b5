package mark_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/mark"
)

func TestActs(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for at, want := range map[time.Time]string{
		noon:                       "2026-11-20T12:00:01Z", // a pod of that very second may be the older one
		noon.Add(time.Millisecond): "2026-11-20T12:00:01Z",
		noon.Add(1500 * time.Millisecond).In(time.FixedZone("", 3600)): "2026-11-20T12:00:02Z",
	} {
		if diff := cmp.Diff(mark.Roll{Spec: map[string]any{"restartAt": want}}, mark.Restart(at)); diff != "" {
			t.Errorf("restart for a change at %s (-want +got):\n%s", at, diff)
		}
	}
	roll := mark.Roll{Hash: "h", Annotations: map[string]any{"reroll.dev/applied": "x"}}
	paused := rolled(t, deployment(), roll.Pause("since", noon))
	want := deployment(annotated(mark.HashKey, "h"))
	want.Annotations, want.Spec.Paused = map[string]string{"since": "2026-11-20T12:00:00Z", "reroll.dev/applied": "x"}, true
	if diff := cmp.Diff(want, paused); diff != "" || len(roll.Annotations) > 1 || roll.Spec != nil {
		t.Errorf("paused, the roll is now %v (-want +got):\n%s", roll, diff)
	}
	delete(want.Annotations, "since")
	want.Spec.Paused = false
	if diff := cmp.Diff(want, rolled(t, paused, mark.Resume("since"))); diff != "" {
		t.Errorf("resumed (-want +got):\n%s", diff)
	}
}

func TestRelease(t *testing.T) {
	for before, want := range map[string]string{"": "default-scheduler", "mine": "mine", dialect.NoScheduler: "default-scheduler"} {
		d := deployment()
		if dialect.Unscheduled(stripped(t, d)) {
			t.Error("a workload that Wave knows nothing about is unscheduled")
		}
		d.Annotations = map[string]string{"a": "b", dialect.SchedulingKey: before}
		d.Spec.Template.Spec.SchedulerName = dialect.NoScheduler
		w := stripped(t, d)
		got := rolled(t, d, dialect.Release(w))
		delete(d.Annotations, dialect.SchedulingKey)
		d.Spec.Template.Spec.SchedulerName = want
		if diff := cmp.Diff(d, got); diff != "" || !dialect.Unscheduled(w) || dialect.Unscheduled(stripped(t, got)) {
			t.Errorf("released from %q (-want +got):\n%s", before, diff)
		}
	}
}
