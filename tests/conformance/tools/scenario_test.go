package tools

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
	"github.com/reroll-dev/reroll/tests/world"
)

// TestScenarios runs every data file; those about workloads whose pods run, where controllers see to that.
func TestScenarios(t *testing.T) {
	cases, err := Cases("..")
	line.Must(t, err)
	for name, pods := range map[string]bool{"without pods": false, "with pods": true} {
		t.Run(name, func(t *testing.T) {
			l, err := line.Start(t.Context(), line.Options{Kube: kube.Options{ControlPlaneOnly: !pods, Audit: &kube.Audit{InitialBackoff: time.Second}}})
			line.Must(t, err)
			defer l.Stop()
			line.Must(t, world.Prepare(t.Context(), l))
			var all []scenario.Case
			for _, c := range cases {
				if c.Pods == pods {
					all = append(all, c.Case)
				}
			}
			world.PlayAll(t, l, all, 1)
		})
	}
}

// TestTheTableIsWhole: every tool has cases of both kinds, and the tests that cases name are there.
func TestTheTableIsWhole(t *testing.T) {
	cases, err := Cases("..")
	line.Must(t, err)
	for _, tool := range Tools {
		of := func(kept bool) bool {
			return slices.ContainsFunc(cases, func(c Case) bool { return c.Tool == tool && (c.Ours == "") == kept })
		}
		if !of(true) || !of(false) {
			t.Errorf("%s: some are kept: %t, some fixed: %t", tool.Title, of(true), of(false))
		}
	}
	for _, c := range cases {
		if c.Also == "" {
			continue
		}
		file, test, _ := strings.Cut(c.Also, ":")
		text, err := os.ReadFile(filepath.Join("..", "..", "..", file))
		if err != nil || !strings.Contains(string(text), "\nfunc "+test+"(t *testing.T)") {
			t.Errorf("%s: there is no test %s: %v", c.Name, c.Also, err)
		}
	}
}
