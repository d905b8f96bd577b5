package dispatcher_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestStuckNamespaceHoldsUpNoOther: patches that hang, more than there are workers, are those of one namespace alone. What waits there rolls when
// they have ended.
func TestStuckNamespaceHoldsUpNoOther(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		const stuck = 64
		w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: app, namespace: stuck}, data: {k: "1"}}`)))
		for n := range stuck {
			w.must(w.create(alice, object(t, fmt.Sprintf(`
kind: Deployment
metadata: {name: web-%d, namespace: stuck, annotations: {reroll.dev/auto: "true"}}
spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}}}`, n))))
		}
		w.usually()
		w.failing(func(verb, ref string) error {
			if verb == "patch" && strings.Contains(ref, "/stuck/") {
				<-time.After(30 * time.Second)
			}
			return nil
		})
		w.edit(alice, "ConfigMap/stuck/app", "2")
		w.pass(time.Second)
		w.edit(alice, app, "2")
		w.pass(5 * time.Second)
		w.rolled(web, 1)
		w.pass(5 * time.Second)
		said := 0
		for n := range stuck {
			record, _ := w.store.recordOf(reloader.WorkloadRef{Kind: "Deployment", Namespace: "stuck", Name: fmt.Sprint("web-", n)})
			if record.Hold != nil && record.Hold.Reason == reloader.ReasonWaitingForNamespace {
				said++
			}
		}
		if workers := 32; said < stuck-workers {
			t.Errorf("%d of %d workloads say that they wait for others of their namespace, and at most %d have a worker", said, stuck, workers)
		}
		w.pass(10 * time.Minute)
		for n := range stuck {
			w.rolled(scenario.NewRef("Deployment", "stuck", fmt.Sprint("web-", n)), 1)
			ref := reloader.WorkloadRef{Kind: "Deployment", Namespace: "stuck", Name: fmt.Sprint("web-", n)}
			if got := w.outcomes(ref); got[reloader.ReasonReloaded] != 1 {
				t.Errorf("outcomes of %s: %v", ref, got)
			}
		}
	})
}
