// Package tools runs the development tools that modules below it pin. The product's go.mod knows none of them.
//
// The executables are built by the go command into its build cache, outside the repository; the second use of a tool builds
// nothing.
package tools

import (
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

// in runs a command in the folder of a module below this package, and returns its standard output.
func in(ctx context.Context, module, name string, args ...string) (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return "", errors.New("this package's source folder is unknown")
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = filepath.Join(filepath.Dir(file), module), append(os.Environ(), "CGO_ENABLED=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s%s", name, strings.Join(args, " "), err, out, stderr.String())
	}
	return strings.TrimSpace(string(out)), err
}

// Path returns the executable of the named tool, and builds it when the cache lacks it.
func Path(ctx context.Context, name string) (string, error) {
	return in(ctx, "pinned", "go", "tool", "-n", packages[name])
}

// Promtool runs "promtool check rules" or "promtool test rules" on a file. It is built without service discovery, which brings the clients of every cloud
// and which a build of `go tool` cannot leave out.
func Promtool(ctx context.Context, verb, rules string) error {
	rules, err := filepath.Abs(rules)
	if err == nil {
		_, err = in(ctx, "promtool", "go", "run", "-tags=remove_all_sd", "github.com/prometheus/prometheus/cmd/promtool", verb, "rules", rules)
	}
	return err
}

// Prometheus builds a real Prometheus into a file: static, without service discovery and without the pages of its user interface.
func Prometheus(ctx context.Context, file string) error {
	_, err := in(ctx, "promtool", "go", "build", "-tags=remove_all_sd", "-ldflags=-s -w", "-o", file, "github.com/prometheus/prometheus/cmd/prometheus")
	return err
}

// Module returns the folder with the files of a module that the named tool's go.mod requires, and downloads it when the cache lacks it.
func Module(ctx context.Context, name, module string) (string, error) {
	out, err := in(ctx, name, "go", "mod", "download", "-json", module)
	if err != nil {
		return "", err
	}
	var downloaded struct{ Dir string }
	err = json.Unmarshal([]byte(out), &downloaded)
	return downloaded.Dir, err
}
