package strategy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader/strategy"
)

// TestSAPTokenIsSpent: the hash that pod-reloader left on the metadata goes with the next mark, and nothing else does.
func TestSAPTokenIsSpent(t *testing.T) {
	d := deployment(annotation(strategy.SAPHashKey, "stale"), annotation("reroll.dev/last-reload", "r-1"))
	marks := []strategy.Mark{{Config: cm("c"), Value: hashA, At: changed}}
	ops, err := strategy.SAP.Patch(keeping(t, d), marks)
	if err != nil {
		t.Fatal(err)
	}
	got, err := apply(t, d, strategy.Merge(ops))
	if err != nil {
		t.Fatal(err)
	}
	want := deployment(annotation("reroll.dev/last-reload", "r-1"), templateAnnotation(strategy.SAPHashKey, hashA))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	marked := deployment(annotation(strategy.SAPHashKey, "stale"), templateAnnotation(strategy.SAPHashKey, hashA))
	if ops, err := strategy.SAP.Patch(keeping(t, marked), marks); err != nil || len(ops) > 0 {
		t.Errorf("where there is nothing to be marked: %v, %v", ops, err)
	}
}
