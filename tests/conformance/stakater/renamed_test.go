//go:build nightly

package stakater_test

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/tests/conformance/stakater"
	"github.com/reroll-dev/reroll/tests/line"
)

// renaming is a flag that renames an annotation, as the help has it.
var renaming = regexp.MustCompile(`(?m)^ +--([a-z-]+-annotation) string .*\(default "([^"]+)"\)$`)

// TestEveryAnnotationIsRenamed: for each flag that renames an annotation there are scenarios in which an object has the new name, and
// in which one has the original, which means nothing there.
func TestEveryAnnotationIsRenamed(t *testing.T) {
	cases, err := stakater.Cases()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := line.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	help, err := exec.CommandContext(t.Context(), binary, "serve", "--help").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, help)
	}
	flags := renaming.FindAllStringSubmatch(string(help), -1)
	if len(flags) == 0 {
		t.Fatal("no flag renames an annotation")
	}
	for _, flag := range flags {
		name, original := "--"+flag[1]+"=", flag[2]
		var renamed, old bool
		for _, c := range cases {
			at := slices.IndexFunc(c.Flags, func(f string) bool { return strings.HasPrefix(f, name) })
			if at < 0 {
				continue
			}
			renamed = renamed || mentions(t, c, strings.TrimPrefix(c.Flags[at], name))
			old = old || mentions(t, c, original)
		}
		if !renamed || !old {
			t.Errorf("%s: a scenario has the new name: %t, and one the original: %t", name, renamed, old)
		}
	}
}

// mentions reports whether the objects of a case have a key.
func mentions(t *testing.T, c stakater.Case, key string) bool {
	t.Helper()
	text, err := json.Marshal(c.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(text), `"`+key+`":`)
}
