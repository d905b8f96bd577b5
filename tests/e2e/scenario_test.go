package e2e

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
	"github.com/reroll-dev/reroll/tests/world"
)

// TestScenarios runs every scenario, which the dispatcher's own tests run on a fake, on a real API server: those that share
// settings on one line.
func TestScenarios(t *testing.T) {
	all, err := scenario.Load(os.DirFS("../scenarios"))
	if err != nil {
		t.Fatal(err)
	}
	groups := map[scenario.Settings][]scenario.Scenario{}
	for _, s := range all {
		groups[s.Settings] = append(groups[s.Settings], s)
	}
	for settings, group := range groups {
		t.Run(fmt.Sprintf("%+v", settings), func(t *testing.T) {
			l := ownLine(t, line.Options{Flags: flagsOf(settings)})
			// Parallel tests end before the group does, and the line with it.
			t.Run("all", func(t *testing.T) {
				for _, s := range group {
					t.Run(s.Name, func(t *testing.T) {
						t.Parallel()
						scenario.Run(t.Context(), t, s, world.New(t, l, world.Options{}))
					})
				}
			})
		})
	}
}

// flagsOf gives reroll what a scenario asks of the installation.
func flagsOf(s scenario.Settings) []string {
	flags := []string{
		"--coalesce-window", time.Duration(s.Window).String(), "--coalesce-max-wait", time.Duration(s.MaxWait).String(),
		fmt.Sprintf("--dry-run=%t", s.DryRun), fmt.Sprintf("--auto-reload-all=%t", s.AutoReloadAll),
	}
	if s.Strategy != "" {
		flags = append(flags, "--reload-strategy", s.Strategy)
	}
	return flags
}
