package dispatcher_test

import (
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestRaces: a workload that changes, or is replaced, between the decision and the patch.
func TestRaces(t *testing.T) {
	each(t, scenario.Settings{}, worlds{
		// A workload that was deleted and created again under the dispatcher's hands is not patched for its predecessor.
		"workload replaced": func(_ *testing.T, w *world) {
			w.usually()
			w.stall()
			w.edit(alice, app, "2")
			w.must(w.delete(alice, web))
			w.pass(10 * time.Second)
			w.deploy("web", auto, "app")
			w.pass(quiet)
			w.catchUp()
			w.rolls(0)
			w.edited("3", 1)
		},
		"the successor was made of a copy that was taken during the pause": func(t *testing.T, w *world) {
			pausingWorld(t, w)
			w.replacing(func() {
				w.deploy("web", pausing, "app")
				since := time.Now().UTC().Format(time.RFC3339)
				w.must(w.patch(alice, web, types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+pausedAt+`":"`+since+`"}},"spec":{"paused":true}}`)))
			})
			w.pass(15 * time.Minute)
			w.wantPaused(true, true)
			w.pass(6 * time.Minute)
			w.wantPaused(false, false)
		},
	})
}

// TestConfigMovesWhileItIsDecidedAbout: between the decision and the mark a newer content is looked at. The mark would be that of the newer one,
// and State would have the older one, for which the same mark would be written once more.
func TestConfigMovesWhileItIsDecidedAbout(t *testing.T) {
	inWorld(t, scenario.Settings{Window: scenario.Duration(2 * time.Second)}, func(t *testing.T, w *world) {
		w.usual()
		w.start()
		w.pass(quiet)
		w.edit(alice, app, "2")
		w.pass(time.Second)
		w.must(w.patch(alice, web, types.MergePatchType, []byte(`{"metadata":{"annotations":{"example.com/written":"since"}}}`))) // so the pods are read
		var once sync.Once
		w.failing(func(verb, _ string) error {
			if verb == "pods" {
				once.Do(func() {
					w.edit(alice, app, "3")
					<-time.After(500 * time.Millisecond)
				})
			}
			return nil
		})
		w.pass(quiet)
		if w.counted("pods") == 0 {
			t.Fatal("the pods were not read, so that nothing came in between")
		}
		w.rolled(web, 1)
	})
}

// TestMaximumWaitOverRestarts: it does not begin again with each process.
func TestMaximumWaitOverRestarts(t *testing.T) {
	settings := scenario.Settings{Window: scenario.Duration(time.Second), MaxWait: scenario.Duration(10 * time.Second)}
	inWorld(t, settings, func(t *testing.T, w *world) {
		w.usually()
		for i := range 48 {
			w.edit(alice, app, string(rune('A'+i)))
			w.pass(250 * time.Millisecond)
			if i%16 == 15 {
				w.stop()
				w.start()
			}
		}
		w.rolled(web, 1)
		w.rolls(2)
		w.edit(alice, app, "a")
		w.pass(500 * time.Millisecond)
		w.rolled(web, 2) // what has waited is over
	})
}

// TestRequestsPerChange: at window 0 a change and a dependent cost one read and one patch, many dependents no more reads. A hint
// that comes twice costs nothing more, and each roll one more look at the metadata later.
func TestRequestsPerChange(t *testing.T) {
	for _, dependents := range []string{"w", "wxyz"} {
		inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
			w.give("app", "1")
			for _, name := range dependents {
				w.deploy(string(name), auto, "app")
			}
			w.settled()
			for _, verb := range []string{"meta", "get", "list", "read", "patch", "pods"} {
				w.counted(verb)
			}
			w.stream.hold()
			w.edit(alice, app, "2")
			hints := w.stream.take()
			w.stream.send(hints...)
			w.pass(quiet)
			want := map[string]int{"get": 1, "patch": len(dependents), "meta": 1}
			for _, verb := range []string{"meta", "get", "list", "read", "patch", "pods"} {
				if n := w.counted(verb); n != want[verb] {
					t.Errorf("%d dependents: %d requests of %s, want %d", len(dependents), n, verb, want[verb])
				}
			}
			w.stream.send(hints...)
			w.pass(quiet)
			if metas, gets := w.counted("meta"), w.counted("get"); metas != 0 || gets != 0 {
				t.Errorf("a hint that came twice cost %d reads of metadata and %d of content, want none", metas, gets)
			}
			w.give("stranger", "1")
			w.edit(alice, "ConfigMap/stranger", "2")
			w.pass(quiet)
			if n := w.counted("meta") + w.counted("get"); n != 0 {
				t.Errorf("%d reads of a config that nobody depends on", n)
			}
		})
	}
}

// replacing has the next patch of web find it gone, and replace make another one before the answer is heard.
func (w *world) replacing(replace func()) {
	w.failing(func(verb, _ string) error {
		if verb != "patch" {
			return nil
		}
		w.failing(nil)
		w.must(w.delete(alice, web))
		replace()
		return apierrors.NewNotFound(schema.GroupResource{Resource: "deployments"}, "web")
	})
}
