package dispatcher_test

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestKindAwayAtStart: the record of a workload whose kind is not served when a process starts stays, and with it what is known of the workload: a
// change that came meanwhile rolls it when the kind is back. The record of one that is gone by then goes.
func TestKindAwayAtStart(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usual()
		w.deploy("gone", auto, "app")
		w.settled()
		w.stop()

		w.serve(nil, "Deployment")
		w.edit(alice, app, "2")
		p := w.start()
		w.pass(10 * time.Minute)
		if _, known := w.store.recordOf(webRef); !known {
			t.Fatal("the record was deleted although nobody could see the workload")
		}
		w.must(w.delete(alice, "Deployment/gone"))
		w.serve(p, "")
		w.pass(10 * time.Minute)
		w.rolled(web, 1)
		gone := webRef
		gone.Name = "gone"
		if _, known := w.store.recordOf(gone); known {
			t.Error("the record of a workload that is gone stays")
		}
	})
}

// serve has the API server serve all kinds but one, and tells p of all workloads that there are then.
func (w *world) serve(p *process, away string) {
	w.cluster.mu.Lock()
	defer w.cluster.mu.Unlock()
	w.away = away
	for ref := range w.objects {
		if p != nil && ref.Workload() {
			p.observe(ref, w.objects[ref])
		}
	}
}
