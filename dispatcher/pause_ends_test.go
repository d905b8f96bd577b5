package dispatcher_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestPauseOfTheFutureEnds: a pause that says it began in years to come, by a wrong clock, lasts no longer than its period.
func TestPauseOfTheFutureEnds(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		pausingWorld(t, w)
		w.must(w.patch(bob, web, types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+pausedAt+`":"2099-01-01T00:00:00Z"}}}`)))
		w.pass(30 * time.Minute)
		w.wantPaused(false, false)
	})
}

// TestPauseEndsBeforeItIsForgotten: the namespace leaves scope in the middle of a pause, and the process ends before that is over: the next
// one does not see the workload at all.
func TestPauseEndsBeforeItIsForgotten(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		pausingWorld(t, w)
		w.wantPaused(true, true)
		w.running[0].Forget(webRef)
		w.pass(time.Second)
		w.wantPaused(false, false)
	})
}

// TestAnswerOfAPauseLost: the mark and the pause were committed, and the answer lost; neither is written twice, and the pause ends.
func TestAnswerOfAPauseLost(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		h := &halfDeaf{}
		w.configure = h.hear
		w.give("app", "1")
		w.deploy("web", pausing, "app")
		w.start()
		w.pass(time.Second)
		h.lost.Store(true)
		w.edit(alice, app, "2")
		w.pass(15 * time.Second)
		h.lost.Store(false)
		w.pass(11 * time.Minute)
		w.wantPaused(false, false)
		w.rolled(web, 1)
	})
}
