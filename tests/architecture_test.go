package tests

import (
	"os"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/plan"
)

// TestRulesAreInArchitecture: ARCHITECTURE.md has each rule of decision with its sentence, in the order in which they are asked.
func TestRulesAreInArchitecture(t *testing.T) {
	page, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	var rules, sight strings.Builder
	for _, r := range plan.Rules {
		rules.WriteString("| `" + r.Name + "` | " + r.Says + " |\n")
	}
	for _, r := range applied.SightRules {
		sight.WriteString("| `" + r.Name + "` | " + r.Says + " |\n")
	}
	for _, table := range []string{rules.String(), sight.String()} {
		if !strings.Contains(string(page), table) {
			t.Errorf("ARCHITECTURE.md does not have these rows:\n%s", table)
		}
	}
}
