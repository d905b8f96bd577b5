// Package scenarios has what Reroll does as data files. The dispatcher's own tests run them on a fake, and the test here on a real API server.
package scenarios

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
	"github.com/reroll-dev/reroll/tests/world"
)

var shared *line.Line

func TestMain(m *testing.M) {
	line.Main(m, &shared, line.Options{Kube: kube.Options{ControlPlaneOnly: true}}, nil)
}

// TestScenarios runs every scenario on a real API server: those with the same settings share a Reroll.
func TestScenarios(t *testing.T) {
	all, err := scenario.Load(os.DirFS("."))
	line.Must(t, err)
	var cases []scenario.Case
	for _, s := range all {
		cases = append(cases, scenario.Case{Scenario: s, Flags: flagsOf(s.Settings)})
	}
	world.PlayAll(t, shared, cases, 1)
}

// flagsOf gives reroll what a scenario asks of the installation.
func flagsOf(s scenario.Settings) []string {
	flags := []string{
		"--set", "debounce.window=" + time.Duration(s.Window).String(), "--set", "debounce.maxWait=" + time.Duration(s.MaxWait).String(),
		fmt.Sprintf("--dry-run=%t", s.DryRun), fmt.Sprintf("--auto-reload-all=%t", s.AutoReloadAll),
	}
	if s.Strategy != "" {
		flags = append(flags, "--reload-strategy", s.Strategy)
	}
	return flags
}
