package dispatcher_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// braked has dispatchers hold back by b.
func (w *world) braked(b turn.Limits) {
	w.configure = func(o *dispatcher.Options) {
		b.Window, b.MaxWait = o.Limits.Window, o.Limits.MaxWait
		o.Limits = b
	}
}

// held fails the test unless the record of web says that it is held back for that reason, or for none.
func (w *world) held(reason reloader.Reason) reloader.Hold {
	w.t.Helper()
	record, ok := w.store.recordOf(webRef)
	if !ok {
		w.t.Fatal("web has no record")
	}
	var hold reloader.Hold
	if record.Hold != nil {
		hold = *record.Hold
	}
	if hold.Reason != reason {
		w.t.Errorf("held back for %q, want %q", hold.Reason, reason)
	}
	return hold
}

// TestBrakes: what holds workloads back, and lets them go.
func TestBrakes(t *testing.T) {
	each(t, scenario.Settings{}, worlds{
		// As many roll as may, over a restart too; who has rolled out, or never will, makes room at once; each rolls once.
		"concurrency limit": func(t *testing.T, w *world) {
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
		},
		// One that moved each time it had to be patched, and that something holds back now, is not rolling.
		"restless workload takes nobodys place": func(t *testing.T, w *world) {
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
		},
	})
}

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
