package newcomer

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table in docs/troubleshooting.md instead of comparing with it")

const page, heading = "../../docs/troubleshooting.md", "## Mistakes, and what explain says\n"

// TestPage: the table of mistakes in docs/troubleshooting.md is that of the tests.
func TestPage(t *testing.T) {
	var table strings.Builder
	fmt.Fprint(&table, "\n<!-- Made from tests/newcomer by go test ./tests/newcomer -run TestPage -update. -->\n\n| mistake | state | the first line has | next |\n|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		f := faults[name]
		cell := func(text string) string {
			if text == "" {
				return ""
			}
			return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", name, cell(f.state), cell(f.cause), cell(f.next))
	}
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(content), heading)
	if !ok {
		t.Fatalf("%s has no %s", page, heading)
	}
	_, after, _ := strings.Cut(rest, "\n## ")
	want := before + heading + table.String() + "\n## " + after
	switch {
	case want == string(content):
	case *update:
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the table in %s is not that of the tests: go test ./tests/newcomer -run TestPage -update", page)
	}
}
