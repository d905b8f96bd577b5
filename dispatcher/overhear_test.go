package dispatcher_test

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestOverheard: a workload without a window is rolled before the hint is stored, by one read, and the hint from the stream causes no other.
func TestOverheard(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.eavesdrop()
		w.reads()
		w.edit(alice, app, "2")
		w.pass(time.Second)
		w.rolled(web, 1)
		if reads := w.reads(); reads != 1 {
			t.Errorf("%d reads before the hint is stored, want 1", reads)
		}
		w.stream.send(w.stream.take()...)
		w.pass(time.Second)
		if n := w.stream.unacknowledged(); n != 0 {
			t.Errorf("%d hints are not acknowledged", n)
		}
		if reads := w.reads(); reads != 0 {
			t.Errorf("%d reads for a hint that was answered, want 0", reads)
		}
		w.must(w.Quiesce(t.Context()))
		w.rolled(web, 1)
		if got := w.outcomes(webRef); len(got) != 1 || got[reloader.ReasonReloaded] != 1 {
			t.Errorf("outcomes %v, want one Reloaded", got)
		}
		if who := w.store.reloadsOf(webRef)[0].Causes[0].Candidates; len(who) != 1 || who[0].Actor != alice {
			t.Errorf("candidates %+v, want alice once", who)
		}
	})
}

// TestOverheardIsNotTrusted: what an overheard look could not find out, the hint from the stream does.
func TestOverheardIsNotTrusted(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.eavesdrop()
		w.failing(func(string, string) error { return errLost })
		w.edit(alice, app, "2")
		w.pass(time.Minute)
		w.failing(nil)
		w.pass(time.Minute)
		w.rolled(web, 0)
		w.stream.send(w.stream.take()...)
		w.pass(time.Second)
		w.rolled(web, 1)
	})
}

// TestOverheardAndNeverStored: the hint never gets into the stream, and the process ends before it has recorded the roll, or before
// it has stored the change. Its successor finds the change, and whether the workload has it.
func TestOverheardAndNeverStored(t *testing.T) {
	for name, lost := range map[string]error{"patched": nil, "not patched": errLost} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.eavesdrop()
				w.store.lose(lost, errLost)
				w.edit(alice, app, "2")
				w.pass(time.Second)
				if lost == nil {
					w.rolled(web, 1)
				}
				w.stop()
				w.stream.take()
				w.store.lose(nil, nil)
				w.start()
				w.pass(quiet)
				w.rolled(web, 1)
				w.edit(alice, app, "1")
				w.pass(quiet)
				w.rolled(web, 2)
			})
		})
	}
}

// TestOverheardWithWindow: who waits for a window anyway waits for the stream.
func TestOverheardWithWindow(t *testing.T) {
	inWorld(t, scenario.Settings{Window: scenario.Duration(time.Second), MaxWait: scenario.Duration(time.Minute)}, func(t *testing.T, w *world) {
		w.eavesdrop()
		w.reads()
		w.edit(alice, app, "2")
		w.pass(time.Minute)
		if reads := w.reads(); reads != 0 {
			t.Errorf("%d reads before the hint is stored, want none", reads)
		}
		w.stream.send(w.stream.take()...)
		w.pass(quiet)
		w.rolled(web, 1)
	})
}

// TestOverheardIsBounded: hints that the stream never brings are no burden.
func TestOverheardIsBounded(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usual()
		p := w.start()
		w.pass(quiet)
		w.reads()
		hint := reloader.Hint{
			Cluster: clusterName, Config: appConfig, Verb: reloader.VerbUpdate, Source: reloader.SourceAudit, Code: 200, Time: time.Now(),
		}
		for i := range 5000 {
			hint.Received = time.Now().Add(time.Duration(i))
			p.Overhear([]reloader.Hint{hint})
			w.pass(0)
		}
		if reads := w.reads(); reads > 1000 {
			t.Errorf("%d reads for overheard hints, want 1000 at most", reads)
		}
		w.pass(3 * time.Minute)
		hint.Received = time.Now()
		p.Overhear([]reloader.Hint{hint})
		w.pass(time.Second)
		if reads := w.reads(); reads == 0 {
			t.Error("hints that did not come by the stream are remembered for ever")
		}
	})
}

// eavesdrop starts a dispatcher that hears of hints, none of which gets into the stream.
func (w *world) eavesdrop() {
	w.overhears = true
	w.usual()
	w.start()
	w.pass(quiet)
	w.stream.hold()
}

// reads returns how often configs were read since the last call.
func (w *world) reads() int { return w.counted("get") + w.counted("meta") }
