package dispatcher_test

import (
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader/control"
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

// TestRatesHoldAfterAnotherBrake: who stood in line when everything was frozen, or when the window closed, does not go with all others at
// once when that ends.
func TestRatesHoldAfterAnotherBrake(t *testing.T) {
	window, err := control.ParseWindow("CRON_TZ=UTC 0 1 * * * 1h")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		windows []control.Window
		// before passes until the change, on a clock that begins at midnight, and closed while nothing may roll.
		before, closed time.Duration
		freeze         bool
		// refused says that all were tried, and refused, before the freeze.
		refused bool
	}{
		"a freeze":                      {nil, quiet, time.Hour, true, false},
		"a window":                      {[]control.Window{window}, 2*time.Hour - time.Minute, 23 * time.Hour, false, false},
		"a freeze of what was given up": {nil, quiet, time.Hour, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.braked(turn.Limits{PerMinute: 60, Windows: c.windows})
				count := w.fleetOf("other", 300)
				p := w.start()
				w.pass(c.before)
				if c.refused {
					w.failing(func(verb, _ string) error {
						if verb == "patch" {
							return apierrors.NewForbidden(deployments, "any", errNoRight)
						}
						return nil
					})
				}
				w.edit(alice, scenario.NewRef("ConfigMap", "other", "app"), "2")
				if c.refused {
					w.pass(10 * time.Minute)
				}
				w.pass(30 * time.Second)
				if c.freeze {
					p.SetControl(control.Frozen(control.Freeze{}))
				}
				w.pass(c.closed)
				if n := count(); n > 70 {
					t.Fatalf("%d rolls although they are held back", n)
				}
				w.failing(nil)
				p.SetControl(control.Control{})
				for range 10 {
					before := count()
					w.pass(time.Minute)
					if n := count() - before; n > 67 {
						t.Fatalf("%d rolls in one minute, want 66 at most", n)
					}
				}
				if n := count(); n != 300 {
					t.Errorf("%d rolls in all, want 300", n)
				}
			})
		})
	}
}

// TestNamespaceInLineTakesNoPlaceOfOthers: the limit of all is for those who may go, not for those whose own namespace holds them back.
func TestNamespaceInLineTakesNoPlaceOfOthers(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.braked(turn.Limits{PerMinute: 60, NamespacePerMinute: 2})
		crowd, alone := w.fleetOf("crowd", 300), w.fleetOf("alone", 1)
		w.start()
		w.pass(quiet)
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
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.braked(b)
				count := w.fleetOf("other", 200)
				w.start()
				w.pass(quiet)
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
		})
	}
}
