package dispatcher_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestOneConfigThatCannotBeServed: a Secret that the API server cannot decrypt is answered with an error for ever. Its workload waits alone.
func TestOneConfigThatCannotBeServed(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usual()
		w.give("broken", "1")
		w.deploy("victim", auto, "broken")
		broken := apierrors.NewInternalError(errLost)
		w.failing(func(verb, ref string) error {
			if strings.HasSuffix(ref, "/broken") && (verb == "meta" || verb == "get") {
				return broken
			}
			return nil
		})
		p := w.launch()
		w.pass(quiet)
		if err := p.Ready(); err != nil {
			t.Fatalf("not ready because of one config: %v", err)
		}
		w.stream.connect(p.Handle)
		w.edited("2", 1)
		record, _ := w.store.recordOf(reloader.WorkloadRef{Kind: "Deployment", Namespace: scenario.DefaultNamespace, Name: "victim"})
		if len(record.Unreadable) == 0 {
			t.Error("nothing on record says why the other workload has no baseline")
		}
		w.failing(nil)
		w.pass(quiet)
		w.edit(alice, "ConfigMap/broken", "2")
		w.must(w.Quiesce(t.Context()))
		w.rolled("Deployment/victim", 1)
	})
}
