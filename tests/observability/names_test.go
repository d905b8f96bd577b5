package observability

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestWhereToFindWhat: what the document sends people to is in its table of metrics, which tests/e2e compares with a running process.
func TestWhereToFindWhat(t *testing.T) {
	content, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, guide, found := strings.Cut(string(content), "\n#### Where to find what\n")
	guide, _, _ = strings.Cut(guide, "\n\nWhat is worth")
	names := regexp.MustCompile("reroll_[a-z_]+").FindAllString(guide, -1)
	if !found || len(names) < 20 {
		t.Fatalf("only %d metrics are named", len(names))
	}
	for _, name := range names {
		if !strings.Contains(string(content), "\n| `"+name+"` | ") {
			t.Errorf("%s is in no table of metrics", name)
		}
	}
}
