package dispatcher_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestTimesNameTheirTrace where there are traces: whoever sees that something took long finds what it was.
func TestTimesNameTheirTrace(t *testing.T) {
	for name, traced := range map[string]bool{"traced": true, "not traced": false} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				registry := w.measured(func(o *dispatcher.Options) { o.Traced = traced })
				w.usual()
				w.say(web, 1, allNew)
				w.start()
				w.pass(quiet)
				w.edit(alice, app, "2")
				w.pass(time.Second)
				w.say(web, 2, allNew)
				want := map[string]string{}
				if last := w.store.reloadsOf(webRef)[0]; traced {
					for _, metric := range []string{"reroll_reload_stage_seconds", "reroll_change_to_patch_seconds", "reroll_decision_to_patch_seconds", "reroll_rollout_duration_seconds"} {
						want[metric] = last.TraceID()
					}
				}
				got := map[string]string{}
				for _, f := range gathered(t, registry, "reroll_") {
					for _, trace := range traces(f) {
						got[f.GetName()] = trace
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("which trace the times are of (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// traces returns the traces that the buckets of histograms name.
func traces(f *dto.MetricFamily) (found []string) {
	for _, m := range f.GetMetric() {
		for _, bucket := range m.GetHistogram().GetBucket() {
			for _, l := range bucket.GetExemplar().GetLabel() {
				found = append(found, l.GetValue())
			}
		}
	}
	return found
}
