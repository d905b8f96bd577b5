package tests

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/reloader/dialect"
)

// ownKey is an annotation of Reroll itself in the sources.
var ownKey = regexp.MustCompile(`(?:OwnPrefix \+ "|"reroll\.dev/)([a-z-]+)"`)

// noAnnotations have Reroll's prefix and are no annotations.
var noAnnotations = []string{
	"reroll.dev/dispatcher",   // the reporter of Events
	"reroll.dev/generation",   // of streams
	"reroll.dev/key-id",       // goes into a hash
	"reroll.dev/job",          // a type of Secrets
	"reroll.dev/job-manifest", // a label of these
}

// keyCell is the first cell of a row with keys of annotations; those of labels begin otherwise.
var keyCell = regexp.MustCompile("(?m)^\\| (`[a-z.]+[./][^|]*) \\|")

// TestAnnotationsAreDocumented: docs/annotations.md has every key that a dialect reads or writes, and no other.
func TestAnnotationsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/annotations.md")
	if err != nil {
		t.Fatal(err)
	}
	keys := annotationKeys(t)
	if len(keys) < 50 {
		t.Fatalf("only %d keys were found: %q", len(keys), keys)
	}
	for _, key := range keys {
		if !strings.Contains(string(page), "`"+key+"`") {
			t.Errorf("docs/annotations.md does not have %s", key)
		}
	}
	for _, cell := range keyCell.FindAllStringSubmatch(string(page), -1) {
		for _, key := range strings.Split(cell[1], ", ") {
			if !slices.Contains(keys, strings.Trim(key, "`")) {
				t.Errorf("docs/annotations.md has %s, which the code does not know", key)
			}
		}
	}
}

// annotationKeys returns the keys that the dialects and the sources know.
func annotationKeys(t *testing.T) (keys []string) {
	t.Helper()
	for _, d := range dialect.All(dialect.StakaterOptions{}) {
		for _, c := range d.Clauses {
			keys = append(keys, c.Key)
		}
		keys = append(keys, d.Writes...)
		for _, choice := range d.Choices.Strategy {
			keys = append(keys, choice.Key)
		}
		keys = append(keys, d.Choices.PausePeriod, d.Choices.PausedAt, d.Choices.Window, d.Choices.MinInterval, d.Choices.Maintenance, d.Choices.Keys)
	}
	grep := exec.CommandContext(t.Context(), "git", "grep", "-hE", "--untracked", `(OwnPrefix \+ "|"reroll\.dev/)`, "--", "reloader/*.go", "dispatcher/*.go", "admission/*.go", ":!*_test.go")
	grep.Dir = ".."
	out, err := grep.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range ownKey.FindAllStringSubmatch(string(out), -1) {
		keys = append(keys, dialect.OwnPrefix+m[1])
	}
	slices.Sort(keys)
	return slices.DeleteFunc(slices.Compact(keys), func(key string) bool { return key == "" || slices.Contains(noAnnotations, key) })
}
