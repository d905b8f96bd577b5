package stakater_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/tests/conformance/stakater"
	"github.com/reroll-dev/reroll/tests/line"
)

// TestOperations: each test that a case names exists.
func TestOperations(t *testing.T) {
	shown, err := stakater.Operations()
	line.Must(t, err)
	for _, s := range shown {
		file, test, _ := strings.Cut(s.Test, ":")
		text, err := os.ReadFile(filepath.Join("../../..", file))
		if err != nil || !strings.Contains(string(text), "\nfunc "+test+"(t *testing.T)") {
			t.Errorf("there is no test %s: %v", s.Test, err)
		}
	}
}
