// Package tools runs the development tools that modules below it pin. The product's go.mod knows none of them.
//
// The executables are built by the go command into its build cache, outside the repository; the second use of a tool builds
// nothing.
package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// packages are the tools that the module pinned has, by the names that tests call them by.
var packages = map[string]string{
	"compose":       "github.com/reroll-dev/reroll/tests/tools/pinned/compose",
	"helm":          "helm.sh/helm/v4/cmd/helm",
	"helm3":         "helm.sh/helm/v3/cmd/helm",
	"helm-unittest": "github.com/helm-unittest/helm-unittest/cmd/helm-unittest",
}

// Path returns the executable of the named tool, and builds it when the cache lacks it.
func Path(ctx context.Context, name string) (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return "", fmt.Errorf("tool %s: this package's source folder is unknown", name)
	}
	cmd := exec.CommandContext(ctx, "go", "tool", "-n", packages[name])
	cmd.Dir = filepath.Join(filepath.Dir(file), "pinned")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("build tool %s: %w: %s", name, err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
}

// Promtool returns the call "promtool check rules" or "promtool test rules" for a file. It is built without service discovery, which brings the clients of every cloud and which a build of
// `go tool` cannot leave out.
func Promtool(ctx context.Context, verb, rules string) (*exec.Cmd, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return nil, errors.New("promtool: this package's source folder is unknown")
	}
	rules, err := filepath.Abs(rules)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "run", "-tags=remove_all_sd", "github.com/prometheus/prometheus/cmd/promtool", verb, "rules", rules)
	cmd.Dir = filepath.Join(filepath.Dir(file), "promtool")
	return cmd, nil
}

// Prometheus builds a real Prometheus into a file: static, without service discovery and without the pages of its user interface.
func Prometheus(ctx context.Context, file string) error {
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		return errors.New("prometheus: this package's source folder is unknown")
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-tags=remove_all_sd", "-ldflags=-s -w", "-o", file, "github.com/prometheus/prometheus/cmd/prometheus")
	cmd.Dir = filepath.Join(filepath.Dir(here), "promtool")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build prometheus: %w: %s", err, out)
	}
	return nil
}

// Module returns the folder with the files of a module that the named tool's go.mod requires, and downloads it when the cache lacks it.
func Module(ctx context.Context, name, module string) (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return "", fmt.Errorf("module %s: this package's source folder is unknown", module)
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = filepath.Join(filepath.Dir(file), name)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("download module %s: %w: %s", module, err, out)
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		return "", fmt.Errorf("download module %s: %w", module, err)
	}
	return downloaded.Dir, nil
}
