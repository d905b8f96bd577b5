package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestStageEndsWithItsFirstFailure: continuous integration stops at the first failed line of a stage. Here apt-get cannot update its lists, and
// would install what it likes.
func TestStageEndsWithItsFirstFailure(t *testing.T) {
	dir := t.TempDir()
	for _, program := range []string{"bash", "dirname", "mktemp", "rm"} {
		found, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(found, filepath.Join(dir, program)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "apt-get"), []byte("#!/bin/sh\n[ \"$1\" != update ]\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "bash"), "../.ci/run")
	cmd.Env = []string{"PATH=" + dir, "TMPDIR=" + dir}
	output, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(output), "what the machine needs: FAILED") || strings.Contains(string(output), "modules") {
		t.Errorf("%v: it says:\n%s", err, output)
	}
}
