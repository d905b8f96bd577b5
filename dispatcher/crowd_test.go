package dispatcher_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestCrowdedNamespaceHoldsUpNoStart: after a restart the reads for a namespace with very many dependencies take minutes. The process is ready
// within seconds, ordinary workloads roll, and what changed in that namespace before and meanwhile rolls once.
func TestCrowdedNamespaceHoldsUpNoStart(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		const workloads, configs = 30, 50
		for c := range configs {
			w.must(w.create(alice, object(t, fmt.Sprintf(`{kind: ConfigMap, metadata: {name: c-%d, namespace: crowd}, data: {k: "1"}}`, c))))
		}
		for n := range workloads {
			var from []string
			for c := range configs {
				from = append(from, fmt.Sprintf("{configMapRef: {name: c-%d}}", c))
			}
			w.must(w.create(alice, object(t, fmt.Sprintf(`
kind: Deployment
metadata: {name: web-%d, namespace: crowd, annotations: {reroll.dev/auto: "true"}}
spec: {template: {spec: {containers: [{name: main, envFrom: [%s]}]}}}`, n, strings.Join(from, ", ")))))
		}
		w.usual()
		w.start()
		w.pass(quiet)
		w.stop()
		w.edit(alice, "ConfigMap/crowd/c-7", "2")
		w.failing(func(verb, ref string) error {
			if verb == "meta" && strings.Contains(ref, "/crowd/") {
				<-time.After(5 * time.Second)
			}
			return nil
		})
		p := w.launch()
		w.pass(10 * time.Second)
		if err := p.Ready(); err != nil {
			t.Fatalf("not ready because of one namespace: %v", err)
		}
		w.stream.connect(p.Handle)
		w.edit(alice, app, "2")
		w.edit(alice, "ConfigMap/crowd/c-8", "2")
		w.pass(10 * time.Second)
		w.rolled(web, 1)
		w.failing(nil)
		w.pass(30 * time.Minute)
		for n := range workloads {
			if rolls, err := w.Generation(t.Context(), scenario.NewRef("Deployment", "crowd", fmt.Sprint("web-", n))); err != nil || rolls < 2 || rolls > 3 {
				t.Errorf("crowd/web-%d has generation %d, want one or two rolls for two edits; error %v", n, rolls, err)
			}
		}
	})
}
