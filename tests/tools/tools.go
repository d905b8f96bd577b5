// Package tools runs the development tools that live beside it, each in a module of its own with its exact version. The
// product's go.mod knows none of them.
//
// The executables are built by the go command into its build cache, outside the repository; the second use of a tool builds
// nothing.
package tools

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Path returns the executable of the named tool, a folder of this package, and builds it when the cache lacks it. The first
// build of a large tool takes minutes.
func Path(ctx context.Context, name string) (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return "", fmt.Errorf("tool %s: this package's source folder is unknown", name)
	}
	cmd := exec.CommandContext(ctx, "go", "tool", "-n", name)
	cmd.Dir = filepath.Join(filepath.Dir(file), name)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("build tool %s: %w: %s", name, err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
}
