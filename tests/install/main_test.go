package install_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/guide"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/tools"
)

const root = "../.."

// suiteTime bounds the quick start.
const suiteTime = 10 * time.Minute

// reader is who follows a guide: a shell in a folder of their own, with the tools that the guide asks for.
type reader struct {
	dir string
	env []string
	// kubeconfig is of the cluster of install.
	kubeconfig string
}

func newReader(t *testing.T) *reader {
	t.Helper()
	reroll, err := line.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	helm, err := tools.Path(t.Context(), "helm")
	if err != nil {
		t.Fatal(err)
	}
	charts, err := filepath.Abs(root + "/helm")
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{dir: t.TempDir()}
	r.link(t, "reroll", reroll)
	r.link(t, "helm", helm)
	if err := os.Symlink(charts, filepath.Join(r.dir, "helm")); err != nil {
		t.Fatal(err)
	}
	r.env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "REROLL_") || strings.HasPrefix(v, "KUBECONFIG=") })
	r.env = append(r.env, "PATH="+r.dir+"/bin:"+os.Getenv("PATH"), "HOME="+r.dir)
	return r
}

// link gives the reader a tool.
func (r *reader) link(t *testing.T, name, target string) {
	t.Helper()
	if err := os.MkdirAll(r.dir+"/bin", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(r.dir, "bin", name)); err != nil {
		t.Fatal(err)
	}
}

// follow runs commands, and returns what they print.
func (r *reader) follow(t *testing.T, commands []string) string {
	t.Helper()
	var printed strings.Builder
	for _, command := range commands {
		shell := exec.CommandContext(t.Context(), "sh", "-euxc", command)
		shell.Dir, shell.Env = r.dir, r.env
		output, err := shell.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", command, err, output)
		}
		printed.Write(output)
	}
	return printed.String()
}

func read(t *testing.T, document string) []guide.Section {
	t.Helper()
	sections, err := guide.Read(root + "/docs/" + document)
	if err != nil {
		t.Fatal(err)
	}
	return sections
}

// commands returns those of a section.
func commands(t *testing.T, sections []guide.Section, name string) []string {
	t.Helper()
	i := slices.IndexFunc(sections, func(s guide.Section) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no commands under %q", name)
	}
	return sections[i].Commands
}
