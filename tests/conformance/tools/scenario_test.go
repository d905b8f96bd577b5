package tools_test

import (
	"slices"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/conformance"
	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
	"github.com/reroll-dev/reroll/tests/world"
)

// TestScenarios runs every data file; those about workloads whose pods run, where controllers see to that. Every tool has cases of both kinds, kept and fixed.
func TestScenarios(t *testing.T) {
	cases := map[bool][]scenario.Case{}
	for _, tool := range []string{"sap", "wave", "collaborne", "fabric8", "trigger"} {
		all, err := conformance.Cases("../"+tool, tool+"-")
		line.Must(t, err)
		fixed := func(c conformance.Case) bool { return c.Ours != "" }
		if kept := func(c conformance.Case) bool { return !fixed(c) }; !slices.ContainsFunc(all, fixed) || !slices.ContainsFunc(all, kept) {
			t.Errorf("%s has not both what is kept and what is fixed", tool)
		}
		for _, c := range all {
			cases[c.Pods] = append(cases[c.Pods], c.Case)
		}
	}
	for name, pods := range map[string]bool{"without pods": false, "with pods": true} {
		t.Run(name, func(t *testing.T) {
			l, err := line.Start(t.Context(), line.Options{Kube: kube.Options{ControlPlaneOnly: !pods, Audit: &kube.Audit{InitialBackoff: time.Second}}})
			line.Must(t, err)
			defer l.Stop()
			line.Must(t, world.Prepare(t.Context(), l))
			world.PlayAll(t, l, cases[pods], 1)
		})
	}
}
