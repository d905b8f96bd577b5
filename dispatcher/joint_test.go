package dispatcher_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestJointMarkIsOfOneMoment: a config that changes while the mark is made is not marked as what it was.
func TestJointMarkIsOfOneMoment(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.give("app", "1")
		w.deploy("web", waveLists, "app")
		w.settled()
		var requests atomic.Int64
		w.failing(func(verb, _ string) error {
			if n := requests.Add(1); verb == "get" && n < 12 {
				w.must(w.patch(alice, app, "application/merge-patch+json", fmt.Appendf(nil, `{"data":{"a":"x%d"}}`, n)))
			}
			return nil
		})
		w.edit(alice, app, "2")
		w.pass(quiet)
		w.failing(nil)
		w.pass(quiet)
		obj, _ := w.read(app)
		value := obj.(*corev1.ConfigMap).Data["a"]
		if !strings.HasPrefix(value, "x") {
			t.Fatal("nobody edited in between")
		}
		if got := w.templateAnnotation(mark.WaveHashKey); got != waveMark(value) {
			t.Errorf("the mark is %s, not that of %q", got, value)
		}
	})
}

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
