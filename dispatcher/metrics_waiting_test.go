package dispatcher_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// ages returns reroll_oldest_pending_age_seconds in whole minutes, of each reason for which something waits, and fails the test unless
// there is a series for every reason.
func ages(t *testing.T, r prometheus.Gatherer) map[string]int {
	t.Helper()
	found, series := map[string]int{}, 0
	for _, family := range gathered(t, r, "reroll_oldest_pending_age_seconds") {
		for _, m := range family.GetMetric() {
			series++
			if age := m.GetGauge().GetValue(); age != 0 {
				found[m.GetLabel()[0].GetValue()] = int(age / 60)
			}
		}
	}
	if want := len(reloader.HoldReasons) + 1; series != want {
		t.Errorf("%d series, want %d", series, want)
	}
	return found
}

func TestAgeOfTheOldestPendingChange(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		r := w.measured(nil)
		look := func(when string, want map[string]int) {
			t.Helper()
			if diff := cmp.Diff(want, ages(t, r)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		w.usual()
		w.give("quick", "1")
		w.deploy("quick", auto, "quick")
		p := w.start()
		w.pass(quiet)
		look("nothing has changed", map[string]int{})

		p.SetControl(control.Frozen(control.Freeze{}))
		w.edit(alice, app, "2")
		w.pass(90 * time.Minute)
		w.edit(alice, app, "3")
		w.edit(alice, "ConfigMap/quick", "2")
		w.pass(30 * time.Minute)
		look("two wait, one of them for a change before its last", map[string]int{"Frozen": 120})

		p.SetControl(control.Control{})
		w.pass(time.Minute)
		look("all have rolled", map[string]int{})

		p.SetControl(control.Frozen(control.Freeze{}))
		w.edit(alice, app, "4")
		w.pass(30 * time.Minute)
		look("the next one waits, and no time of the last is in it", map[string]int{"Frozen": 30})
	})
}

func TestAgeOfAPendingChangeOutlivesARestart(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		var r *prometheus.Registry
		w.configure = func(o *dispatcher.Options) {
			r = prometheus.NewRegistry()
			o.Registerer = r
		}
		w.control = control.Frozen(control.Freeze{})
		w.usual()
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(time.Hour)
		w.stop()
		w.pass(time.Hour)
		w.launch()
		w.pass(quiet)
		// The start and the stop take their time, too.
		if found := ages(t, r); len(found) != 1 || found["Frozen"] < 120 || found["Frozen"] > 130 {
			t.Errorf("after a restart %v, want Frozen for two hours", found)
		}
	})
}

func TestAgeOfWhatWaitsForItsWindow(t *testing.T) {
	inWorld(t, scenario.Settings{Window: scenario.Duration(10 * time.Minute), MaxWait: scenario.Duration(time.Hour)}, func(t *testing.T, w *world) {
		r := w.measured(nil)
		w.usual()
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(5 * time.Minute)
		if diff := cmp.Diff(map[string]int{"none": 5}, ages(t, r)); diff != "" {
			t.Errorf("in the quiet window (-want +got):\n%s", diff)
		}
	})
}
