package api

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// TestImpactSaysWhyAndUntilWhen: whoever asks what would wait is told in whose words, and when it would go on.
func TestImpactSaysWhyAndUntilWhen(t *testing.T) {
	soon, later := time.Now().Add(time.Hour).UTC().Truncate(time.Second), time.Now().Add(2*time.Hour).UTC().Truncate(time.Second)
	held := func(reason reloader.Reason, due time.Time) func(*reloader.ClusterStatus, *reloader.WorkloadRecord) {
		return func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) {
			w.Hold = &reloader.Hold{Reason: reason, Message: "in its words", Since: start, Due: due}
		}
	}
	cases := map[string]struct {
		reason string
		edit   func(*reloader.ClusterStatus, *reloader.WorkloadRecord)
		want   view.ImpactedWorkload
	}{
		"frozen": {"who froze it has said why and for how long", func(s *reloader.ClusterStatus, _ *reloader.WorkloadRecord) {
			s.Freeze = reloader.Freeze{Frozen: true, Reason: "an incident", Until: soon}
		}, view.ImpactedWorkload{Outcome: "Frozen", Message: "an incident", Due: soon}},
		"paused twice": {"the pause that ends last counts", func(s *reloader.ClusterStatus, _ *reloader.WorkloadRecord) {
			s.Pauses = []reloader.Pause{{Namespace: "shop", Until: later, Reason: "a sale"}, {Until: soon, Reason: "an audit"}, {Namespace: "bank", Until: later.Add(time.Hour)}}
		}, view.ImpactedWorkload{Outcome: "PausedByOperator", Message: "a sale", Due: later}},
		"flapping":    {"it is slowed down for a while", held(reloader.ReasonFlapping, soon), view.ImpactedWorkload{Outcome: "Flapping", Message: "in its words", Due: soon}},
		"has flapped": {"the while is over", held(reloader.ReasonFlapping, start), view.ImpactedWorkload{Outcome: "Reloaded"}},
		"dead":        {"no time mends it", held(reloader.ReasonRefused, later), view.ImpactedWorkload{Outcome: "Refused", Message: "in its words"}},
		"tried again": {"a new change is a new try", held(reloader.ReasonRetrying, soon), view.ImpactedWorkload{Outcome: "Reloaded"}},
		"no window yet": {"the first that opens counts", func(s *reloader.ClusterStatus, _ *reloader.WorkloadRecord) {
			s.Windows = []reloader.Window{{Next: later}, {Next: soon}}
		}, view.ImpactedWorkload{Outcome: "OutsideWindow", Due: soon}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := impactWith(t, tc.edit).Workloads[0]
			if got.Outcome != tc.want.Outcome || got.Message != tc.want.Message || !got.Due.Equal(tc.want.Due) {
				t.Errorf("%s: %s %q until %s, want %s %q until %s", tc.reason, got.Outcome, got.Message, got.Due, tc.want.Outcome, tc.want.Message, tc.want.Due)
			}
		})
	}
}
