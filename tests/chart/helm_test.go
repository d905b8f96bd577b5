package chart_test

import (
	"bytes"
	"flag"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/tools"
)

const (
	root      = "../.."
	chart     = root + "/helm/reroll"
	release   = "example"
	namespace = "reroll-system"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

var toolPaths sync.Map

// tool runs one of the repository's pinned tools and returns what it prints; the error carries its standard error.
func tool(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	build, _ := toolPaths.LoadOrStore(name, sync.OnceValues(func() (string, error) {
		return tools.Path(t.Context(), name)
	}))
	path, err := build.(func() (string, error))()
	line.Must(t, err)
	return output(exec.CommandContext(t.Context(), path, args...))
}

func output(cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), &failure{cmd: cmd, err: err, stderr: stderr.String()}
	}
	return stdout.String(), nil
}

// failure is a command that ended badly, with what it said.
type failure struct {
	cmd    *exec.Cmd
	err    error
	stderr string
}

func (f *failure) Error() string {
	return strings.Join(f.cmd.Args, " ") + ": " + f.err.Error() + "\n" + f.stderr
}

// render returns what helm template makes of the chart.
func render(t *testing.T, args ...string) string {
	t.Helper()
	out, err := tool(t, "helm", append([]string{"template", release, chart, "--namespace", namespace}, args...)...)
	line.Must(t, err)
	return out
}

// valuesCases names the folders of testdata: each holds values.yaml and the golden rendered.yaml.
func valuesCases(t *testing.T) []string {
	t.Helper()
	folders, err := filepath.Glob("testdata/*/values.yaml")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no values in testdata: %v", err)
	}
	for i, f := range folders {
		folders[i] = filepath.Dir(f)
	}
	return folders
}
