package tests

import (
	"os"
	"regexp"
	"testing"
)

// TestVersions: what both the product and the pinned programs need has one version, so that a machine without caches compiles it once.
func TestVersions(t *testing.T) {
	requirement := regexp.MustCompile(`(?m)^(?:require)?\s+(\S+) (v\S+)`)
	versions := map[string]string{}
	shared := 0
	for _, file := range []string{"../go.mod", "tools/pinned/go.mod"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range requirement.FindAllStringSubmatch(string(text), -1) {
			switch before, known := versions[m[1]]; {
			case !known:
				versions[m[1]] = m[2]
			case before != m[2]:
				t.Errorf("%s has %s in go.mod and %s in tests/tools/pinned/go.mod: go get %[1]s@VERSION where it is older", m[1], before, m[2])
			default:
				shared++
			}
		}
	}
	if shared < 50 {
		t.Errorf("only %d modules are in both files", shared)
	}
}
