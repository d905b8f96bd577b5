package line

import (
	"regexp"
	"testing"
)

func TestCommit(t *testing.T) {
	if got := Commit(t.Context()); !regexp.MustCompile(`^[0-9a-f]{12,40}(-dirty)?$`).MatchString(got) {
		t.Errorf("Commit = %q", got)
	}
	t.Chdir(t.TempDir())
	if got := Commit(t.Context()); got != "unknown" {
		t.Errorf("Commit outside of a repository = %q", got)
	}
}
