package dispatcher_test

import (
	"slices"
	"testing"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestDryRunOfAMissedChange: a mark proves that a change was missed, which a dry run reports and leaves as it is. What changes later is reported,
// too, of that config and of others.
func TestDryRunOfAMissedChange(t *testing.T) {
	inWorld(t, scenario.Settings{DryRun: true}, func(t *testing.T, w *world) {
		w.give("app", "1")
		w.give("other", "1")
		w.must(w.create(alice, object(t, `
kind: Deployment
metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}
spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}, {configMapRef: {name: other}}],
  env: [{name: STAKATER_APP_CONFIGMAP, value: 0123456789abcdef0123456789abcdef01234567}]}]}}}`)))
		w.settled()
		if got := w.outcomes(webRef)[reloader.ReasonDryRun]; got != 1 {
			t.Fatalf("%d dry runs for the missed change, want 1", got)
		}
		w.edit(alice, "ConfigMap/other", "2")
		w.pass(quiet)
		if got := w.outcomes(webRef)[reloader.ReasonDryRun]; got != 2 {
			t.Fatalf("%d dry runs after another config has changed, want 2", got)
		}
		w.edit(alice, app, "2")
		w.pass(quiet)
		if got := w.outcomes(webRef)[reloader.ReasonDryRun]; got != 3 {
			t.Fatalf("%d dry runs after the first config has changed, want 3", got)
		}
		if r, _ := w.store.recordOf(webRef); slices.ContainsFunc(r.Edges, func(e reloader.Edge) bool { return e.Pending != "" }) {
			t.Errorf("something is pending for ever: %+v", r.Edges)
		}
	})
}
