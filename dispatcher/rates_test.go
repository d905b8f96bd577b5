package dispatcher_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// fleetOf creates n Deployments of app in its namespace and returns what counts the rolls of all.
func (w *world) fleetOf(namespace string, n int) (count func() int64) {
	w.t.Helper()
	w.must(w.create(alice, object(w.t, fmt.Sprintf(`{kind: ConfigMap, metadata: {name: app, namespace: %s}, data: {a: "1"}}`, namespace))))
	refs := make([]scenario.Ref, n)
	for i := range refs {
		refs[i] = scenario.NewRef("Deployment", namespace, fmt.Sprint("web-", i))
		w.must(w.create(alice, object(w.t, fmt.Sprintf(`
kind: Deployment
metadata: {name: web-%d, namespace: %s, annotations: {%s}}
spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}}}`, i, namespace, auto))))
	}
	return func() (rolls int64) {
		for _, ref := range refs {
			g := w.revision(ref)
			rolls += g - 1
		}
		return rolls
	}
}

// TestNamespaceInLineTakesNoPlaceOfOthers: the limit of all is for those who may go, not for those whose own namespace holds them back.
func TestNamespaceInLineTakesNoPlaceOfOthers(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.braked(turn.Limits{PerMinute: 60, NamespacePerMinute: 2})
		crowd, alone := w.fleetOf("crowd", 300), w.fleetOf("alone", 1)
		w.settled()
		w.edit(alice, scenario.NewRef("ConfigMap", "crowd", "app"), "2")
		w.pass(time.Second)
		w.edit(alice, scenario.NewRef("ConfigMap", "alone", "app"), "2")
		w.pass(2 * time.Second)
		if n := alone(); n != 1 {
			t.Errorf("%d rolls of who is alone, want 1: the others hardly use the limit of all", n)
		}
		w.pass(10 * time.Minute)
		if n := crowd(); n < 20 || n > 22 {
			t.Errorf("%d rolls of the crowd in ten minutes, want two a minute", n)
		}
	})
}

// TestRatesHoldThroughRestarts: a process that ends and comes back again and again lets no more go than the limit does.
func TestRatesHoldThroughRestarts(t *testing.T) {
	for name, b := range map[string]turn.Limits{"of all": {PerMinute: 60}, "of the namespace": {NamespacePerMinute: 60}} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.braked(b)
			count := w.fleetOf("other", 200)
			w.settled()
			w.edit(alice, scenario.NewRef("ConfigMap", "other", "app"), "2")
			for range 12 {
				w.pass(5 * time.Second)
				w.stop()
				w.start()
			}
			if rolls := count(); rolls < 40 || rolls > 75 {
				t.Errorf("%d rolls in a minute with twelve restarts, want about 60 and at most six at once", rolls)
			}
			w.pass(quiet)
			if rolls := count(); rolls != 200 {
				t.Errorf("%d rolls at the end, want 200", rolls)
			}
		})
	}
}
