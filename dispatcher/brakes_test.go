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
	w.configure = func(o *dispatcher.Options) { o.Limits = b }
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
		"a freeze is no latency": func(t *testing.T, w *world) {
			p := w.usually()
			w.failing(func(verb, _ string) error {
				if verb == "patch" {
					<-time.After(2 * time.Second)
				}
				return nil
			})
			p.SetControl(control.Frozen(reloader.Pause{}))
			w.edit(alice, app, "2")
			w.pass(time.Hour)
			p.SetControl(control.Control{})
			w.pass(time.Minute)
			if r := w.store.reloadsOf(webRef); len(r) != 1 || r[0].LatencySeconds != 2 {
				t.Errorf("reloads %+v, want one, with the latency of its patch", r)
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
