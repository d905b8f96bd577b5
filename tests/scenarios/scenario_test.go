// Package scenarios has what Reroll does as data files. The dispatcher's own tests run them on a fake, and the test here on a real API server.
package scenarios

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
	"github.com/reroll-dev/reroll/tests/world"
)

// startTime bounds the start of a control plane and of Reroll.
const startTime = 5 * time.Minute

// TestScenarios runs every scenario: those with the same settings share a Reroll, each in namespaces of its own.
func TestScenarios(t *testing.T) {
	all, err := scenario.Load(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	groups := map[scenario.Settings][]scenario.Scenario{}
	for _, s := range all {
		groups[s.Settings] = append(groups[s.Settings], s)
	}
	for settings, group := range groups {
		t.Run(fmt.Sprintf("%+v", settings), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), startTime)
			defer cancel()
			l, err := line.Start(ctx, line.Options{Kube: kube.Options{ControlPlaneOnly: true}, Flags: flagsOf(settings)})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Stop()
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
		"--set", "debounce.window=" + time.Duration(s.Window).String(), "--set", "debounce.maxWait=" + time.Duration(s.MaxWait).String(),
		fmt.Sprintf("--dry-run=%t", s.DryRun), fmt.Sprintf("--auto-reload-all=%t", s.AutoReloadAll),
	}
	if s.Strategy != "" {
		flags = append(flags, "--reload-strategy", s.Strategy)
	}
	return flags
}
