//go:build nightly

package stakater_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestConflict: somebody writes the workload all the time while its config changes; it is rolled once for that, to the new content.
func TestConflict(t *testing.T) {
	p := withFlags(t, nil)
	w := p.play(t, oneEdit)
	merge := scenario.PatchTypes["merge"]
	const writes = 40
	for i := range writes {
		body := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"write":"%d"}}}}}`, i)
		if _, err := w.Patch(t.Context(), "Deployment/web", merge, body); err != nil {
			t.Fatal(err)
		}
		if i != writes/2 {
			continue
		}
		if _, err := w.Patch(t.Context(), "ConfigMap/app", merge, []byte(`{"data":{"a":"3"}}`)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTime)
	defer cancel()
	// It was created, rolled for the first edit, written so often, and rolled for the second edit, perhaps after a pause for so many conflicts.
	awaitGeneration(ctx, t, w, writes+3)
	if err := w.Quiesce(ctx); err != nil {
		t.Fatal(err)
	}
	template, err := w.Template(t.Context(), "Deployment/web")
	if err != nil {
		t.Fatal(err)
	}
	expectVariable(t, "Deployment/web", template, 0, theirName("app", "CONFIGMAP"), scenario.StakaterHash("a=3"))
	if got, err := w.Generation(t.Context(), "Deployment/web"); err != nil || got != writes+3 {
		t.Errorf("generation %d, %v; want %d", got, err, writes+3)
	}
}
