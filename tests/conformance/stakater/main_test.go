package stakater_test

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/conformance"
	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
	"github.com/reroll-dev/reroll/tests/world"
)

// shared is the line of all scenarios, one reroll process after another.
var shared *line.Line

func TestMain(m *testing.M) {
	line.Main(m, &shared, line.Options{Kube: kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{InitialBackoff: time.Second}}}, world.Prepare)
}

// TestScenarios runs the data files, all of them nightly.
func TestScenarios(t *testing.T) {
	cases, err := conformance.Cases("scenarios", "")
	line.Must(t, err)
	var all []scenario.Case
	for _, c := range cases {
		if c.Section == "" {
			t.Errorf("%s has no section", c.Name)
		}
		all = append(all, c.Case)
	}
	world.PlayAll(t, shared, all, leastOfGroup)
}

// TestOperations: what no data file can say is shown by tests that exist.
func TestOperations(t *testing.T) {
	all, err := conformance.Operations("operations.yaml")
	line.Must(t, err)
	for _, h := range all {
		if h.Section == "" || h.Test == "" {
			t.Errorf("it has no section, or names no test: %+v", h)
		}
	}
}
