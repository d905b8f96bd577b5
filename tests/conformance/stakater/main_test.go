package stakater_test

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/conformance/stakater"
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
	cases, err := stakater.Cases()
	line.Must(t, err)
	var all []scenario.Case
	for _, c := range cases {
		all = append(all, c.Case)
	}
	world.PlayAll(t, shared, all, leastOfGroup)
}
