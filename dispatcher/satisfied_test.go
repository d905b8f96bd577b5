package dispatcher_test

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// starting has pods take that long to start from now on.
func (w *world) starting(takes time.Duration) {
	w.cluster.mu.Lock()
	defer w.cluster.mu.Unlock()
	w.podStart = takes
}

// TestBackAfterPodsHaveStarted: while a workload is held back its config changes, containers of the template start, be they sidecars, and the content is
// back. What is on record, and on the workload, is that content; but the pods have the one of between. Containers that somebody else has put into the pods
// do not count.
func TestBackAfterPodsHaveStarted(t *testing.T) {
	for part, rolls := range map[string]int64{"main": 1, "sidecar": 1, "setup": 1, "injected": 0, "nothing": 0} {
		runWorld(t, part, scenario.Settings{}, func(t *testing.T, w *world) {
			w.give("app", "1")
			w.must(w.create(alice, object(t, `
kind: Deployment
metadata: {name: web, annotations: {`+auto+`}}
spec: {template: {spec: {
  initContainers: [{name: setup}, {name: sidecar, restartPolicy: Always}],
  containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}}}`)))
			p := w.settled()
			p.SetControl(control.Frozen(control.Freeze{}))
			w.edit(alice, app, "2")
			w.pass(time.Minute)
			if part != "nothing" {
				w.cluster.mu.Lock()
				w.part = part
				w.cluster.mu.Unlock()
				w.restarted(web)
				w.pass(time.Minute)
			}
			w.edit(alice, app, "1")
			w.pass(time.Minute)
			p.SetControl(control.Control{})
			w.rolls(rolls)
			w.successor()
			w.rolled(web, rolls)
		})
	}
}
