//go:build nightly

package stakater_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/tests/conformance/stakater"
)

var (
	// renaming is a name in reload.annotationKeys and the key without it, as the documentation has them. Stakater's flag has the same name.
	renaming = regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\| `([a-z./-]+)` \\|$")
	capital  = regexp.MustCompile("[A-Z]")
)

// TestEveryAnnotationIsRenamed: for each flag that renames an annotation there are scenarios in which an object has the new name, and
// in which one has the original, which means nothing there.
func TestEveryAnnotationIsRenamed(t *testing.T) {
	cases, err := stakater.Cases()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "### Keys of annotations")
	keys := renaming.FindAllStringSubmatch(table, -1)
	if len(keys) < 16 {
		t.Fatalf("%d annotations have other names", len(keys))
	}
	for _, key := range keys {
		name, original := "--"+strings.ToLower(capital.ReplaceAllString(key[1], "-$0"))+"-annotation=", key[2]
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
