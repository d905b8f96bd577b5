package dispatcher_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestConcurrencyLimit: as many roll as may, over a restart too; who has rolled out, or never will, makes room at once; each rolls once.
func TestConcurrencyLimit(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		f := newFleet(w, 10)
		w.braked(turn.Limits{Concurrent: 3})
		w.settled()
		f.edit(alice, app, "2")
		f.pass(10 * time.Minute)
		open := f.reached(3)
		if n, _ := f.holds(reloader.ReasonConcurrencyLimited); n != 7 {
			t.Errorf("%d wait until others have rolled out, want 7", n)
		}
		f.answer(open[:1], allNew)
		f.reached(4)
		f.answer(open[1:2], gaveUp)
		open = f.reached(5)
		w.successor()
		f.reached(5)
		for done := 5; done < 10; done++ {
			f.answer(open[:1], allNew)
			open = f.reached(done + 1)
		}
		if n, _ := f.holds(reloader.ReasonConcurrencyLimited); n != 0 {
			t.Errorf("%d still wait", n)
		}
	})
}

// TestRestlessWorkloadTakesNobodysPlace: one that moved each time it was to be patched, and that something holds back now, is not rolling.
func TestRestlessWorkloadTakesNobodysPlace(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.braked(turn.Limits{Concurrent: 1})
		p := w.usually()
		moves := 0
		w.failing(func(verb, ref string) error {
			if verb != "patch" || !strings.HasSuffix(ref, "/web") {
				return nil
			}
			moves++
			w.must(w.patch(bob, web, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"labels":{"move":"%d"}}}}}`, moves)))
			return apierrors.NewConflict(deployments, "web", errLost)
		})
		w.edit(alice, app, "2")
		w.pass(time.Second)
		if moves < 5 {
			t.Fatalf("it moved %d times, too few to be left alone", moves)
		}
		w.must(w.patch(bob, web, types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"web"}}}`)))
		p.SetControl(control.Parse(map[string]string{control.Key: fmt.Sprintf(`pauses: [{selector: "app=web", until: %q}]`, time.Now().Add(24*time.Hour).Format(time.RFC3339))}))
		w.pass(quiet)
		w.held(reloader.ReasonPausedByOperator)
		w.failing(nil)
		w.give("other", "1")
		w.deploy("other", auto, "other")
		w.pass(quiet)
		w.edit(alice, "ConfigMap/other", "2")
		w.pass(quiet)
		w.rolled("Deployment/other", 1)
	})
}

func TestCrowdedNamespaceLeavesOthersAlone(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.braked(turn.Limits{NamespaceConcurrent: 2})
		crowd, alone := w.fleetOf("crowd", 20), w.fleetOf("alone", 1)
		w.settled()
		w.edit(alice, scenario.NewRef("ConfigMap", "crowd", "app"), "2")
		w.edit(alice, scenario.NewRef("ConfigMap", "alone", "app"), "2")
		w.pass(10 * time.Minute)
		if n := crowd(); n != 2 {
			t.Errorf("%d rolls in the crowd, want the 2 that may roll at a time", n)
		}
		if n := alone(); n != 1 {
			t.Errorf("%d rolls of who is alone, want 1", n)
		}
	})
}
