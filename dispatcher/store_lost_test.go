package dispatcher_test

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestLostRecords: the store comes back empty under a running dispatcher, which stores the record of each workload once more, also of those of a kind
// that is not served now. Nothing rolls by that, nor by the next start.
func TestLostRecords(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usually()
		w.edited("2", 1)
		before := handledOf(t, w)
		for _, away := range []string{"", "Deployment"} {
			w.stop()
			w.serve(nil, away)
			p := w.start()
			w.pass(10 * time.Minute)
			w.store.wipe()
			p.StoreAgain()
			w.pass(quiet)
			if got := handledOf(t, w); got != before {
				t.Errorf("with kind %q away the record says that %v is handled, want %v", away, got, before)
			}
			w.rolled(web, 1)
			w.serve(p, "")
		}
		w.pass(10 * time.Minute)
		w.edited("3", 2)
	})
}

// handledOf returns what the record of web says of its only dependency.
func handledOf(t *testing.T, w *world) reloader.Handled {
	t.Helper()
	r, stored := w.store.recordOf(webRef)
	if !stored || len(r.Edges) != 1 {
		t.Fatalf("the record of the workload is %+v, stored: %t", r, stored)
	}
	return r.Edges[0].Handled
}
