package dispatcher_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestJointMarkOfWhatGoesAway: a config that is deleted and made again while the mark is made of it takes neither the workload with it nor what
// waits for it.
func TestJointMarkOfWhatGoesAway(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.give("app", "1")
		w.give("more", "1")
		w.deploy("web", waveLists+`, wave.pusher.com/extra-configmaps: "more"`, "app")
		w.settled()
		w.edited("2", 1)
		var away atomic.Bool
		w.failing(func(verb, ref string) error {
			if verb == "get" && strings.HasSuffix(ref, "/more") && away.CompareAndSwap(false, true) {
				return notFound("ConfigMap/more")
			}
			return nil
		})
		w.edited("3", 2)
		if !away.Load() {
			t.Error("nobody read the other config")
		}
	})
}
