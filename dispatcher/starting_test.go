package dispatcher_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/scenario"
)

const crowdSize = 30

// crowd makes a workload that depends on many ConfigMaps of its namespace, and another one with a pattern that matches them.
func (w *world) crowd() {
	w.t.Helper()
	var from []string
	for i := range crowdSize {
		w.must(w.create(alice, object(w.t, fmt.Sprintf(`{kind: ConfigMap, metadata: {name: c-%d, namespace: crowd}, data: {k: "1"}}`, i))))
		from = append(from, fmt.Sprintf("{configMapRef: {name: c-%d}}", i))
	}
	w.must(w.create(alice, object(w.t, fmt.Sprintf(`
kind: Deployment
metadata: {name: web, namespace: crowd, annotations: {reroll.dev/auto: "true"}}
spec: {template: {spec: {containers: [{name: main, envFrom: [%s]}]}}}`, strings.Join(from, ", ")))))
	w.must(w.create(alice, object(w.t, `
kind: Deployment
metadata: {name: pattern, namespace: crowd, annotations: {reroll.dev/configmaps: "c-*"}}
spec: {template: {spec: {containers: [{name: main}]}}}`)))
}

// requestsIn collects the verbs of the requests for configs of the crowd.
func (w *world) requestsIn(answer func(verb string) error) (taken func() []string) {
	var mu sync.Mutex
	var verbs []string
	w.failing(func(verb, ref string) error {
		if !strings.HasPrefix(ref, "ConfigMap/crowd") {
			return nil
		}
		mu.Lock()
		verbs = append(verbs, verb)
		mu.Unlock()
		return answer(verb)
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		defer func() { verbs = nil }()
		return slices.Sorted(slices.Values(verbs))
	}
}

func (w *world) crowdRolled(n int64) {
	w.t.Helper()
	for _, name := range []string{"web", "pattern"} {
		w.rolled(scenario.NewRef("Deployment", "crowd", name), n)
	}
}

// TestStart: what a start asks for.
func TestStart(t *testing.T) {
	each(t, scenario.Settings{}, worlds{
		// A start lists the configs of a namespace once, anyone who depends on them, and reads the content of those alone that have changed.
		"start lists metadata": func(t *testing.T, w *world) {
			w.crowd()
			w.settled()
			w.stop()
			w.edit(alice, "ConfigMap/crowd/c-7", "2")
			taken := w.requestsIn(noAnswer)
			w.start()
			if got := taken(); !slices.Equal(got, []string{"get", "list"}) {
				t.Errorf("the requests were %v, want one list, and the content of what has changed", got)
			}
			w.pass(quiet)
			w.crowdRolled(1)
		},
		"start stores the records that say something else": func(t *testing.T, w *world) {
			w.crowd()
			w.usually()
			w.edited("2", 1)
			w.stop()
			w.store.stored()
			w.settled()
			if n := w.store.stored(); n != 0 {
				t.Errorf("%d records were stored again, although nothing has changed", n)
			}
			w.stop()
			w.must(w.patch(bob, web, types.MergePatchType, []byte(`{"metadata":{"annotations":{"reroll.dev/keys":"a"}}}`)))
			p := w.settled()
			if n := w.store.stored(); n != 1 {
				t.Errorf("%d records were stored, want that of the workload that was edited meanwhile", n)
			}
			p.StoreAgain()
			w.pass(quiet)
			if n := w.store.stored(); n != 3 {
				t.Errorf("%d records were stored after NATS may have lost them, want all 3", n)
			}
		},
	})
}
