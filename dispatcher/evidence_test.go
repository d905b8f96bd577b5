package dispatcher_test

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/dispatcher/notify"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// What marks, times and hints prove, and what they only seem to.

// TestCallsOfTwoDispatchers: an old leader that does not know it has been replaced, and the new one, call with the same key.
func TestCallsOfTwoDispatchers(t *testing.T) {
	inWorld(t, scenario.Settings{Window: scenario.Duration(time.Second)}, func(t *testing.T, w *world) {
		hook := &calls{}
		w.configure = func(o *dispatcher.Options) { o.Webhook = hook }
		w.usual()
		w.start()
		w.settled()
		w.edit(alice, app, "2")
		w.pass(quiet)
		keys := map[string]bool{}
		for _, r := range hook.made() {
			keys[notify.PayloadOf(r).IdempotencyKey] = true
		}
		if len(keys) != 1 {
			t.Errorf("calls with keys %v, want one key", keys)
		}
	})
}
