package dispatcher_test

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestNothingTakesLessThanNoTime: a hint of an API server whose clock is ahead makes no time negative.
func TestNothingTakesLessThanNoTime(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		registry := w.measured(nil)
		w.usual()
		w.start()
		w.pass(quiet)
		w.stream.hold()
		w.edit(alice, app, "2")
		h := w.stream.take()[0]
		h.Time = h.Time.Add(time.Hour)
		w.stream.send(h)
		w.must(w.Quiesce(t.Context()))
		w.rolled(web, 1)
		measured := 0
		for _, f := range gathered(t, registry, "reroll_") {
			for _, m := range f.GetMetric() {
				if h := m.GetHistogram(); h != nil {
					measured += int(h.GetSampleCount())
					if h.GetSampleSum() < 0 {
						t.Errorf("%s %v sums up to %v", f.GetName(), m.GetLabel(), h.GetSampleSum())
					}
				}
			}
		}
		if measured == 0 {
			t.Error("nothing was measured")
		}
	})
}
