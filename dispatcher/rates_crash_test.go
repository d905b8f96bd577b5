package dispatcher_test

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestRatesCountRollsWithoutARecord: a process rolled as many as it might at once and ended before it could record that. Who comes next finds
// that it was done, and does not begin with as many others, however often that happens.
func TestRatesCountRollsWithoutARecord(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.braked(turn.Limits{PerMinute: 60})
		count := w.fleetOf("other", 100)
		w.start()
		w.pass(quiet)
		w.store.lose(nil, errLost)
		w.edit(alice, scenario.NewRef("ConfigMap", "other", "app"), "2")
		w.pass(time.Second)
		began := count()
		if began < 6 || began > 7 {
			t.Fatalf("%d rolls at once, want 6", began)
		}
		w.stop()
		for range 5 {
			w.store.lose(nil, nil)
			w.launch()
			w.pass(200 * time.Millisecond)
			w.store.lose(nil, errLost)
			w.pass(800 * time.Millisecond)
			w.stop()
		}
		if n := count(); n > began+5+7 {
			t.Errorf("%d rolls in 6 seconds, want %d at most", n, began+5+7)
		}
	})
}
