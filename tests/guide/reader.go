package guide

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/tools"
)

// Reader follows a document: a shell in a folder of its own, with reroll, helm and what Link adds on its PATH, and the chart in helm/reroll.
type Reader struct {
	Dir string
	Env []string
}

// NewReader returns a reader. root is the folder of the repository.
func NewReader(t *testing.T, root string) *Reader {
	t.Helper()
	reroll, err := line.Build(t.Context())
	line.Must(t, err)
	helm, err := tools.Path(t.Context(), "helm")
	line.Must(t, err)
	charts, err := filepath.Abs(root + "/helm")
	line.Must(t, err)
	r := &Reader{Dir: t.TempDir()}
	r.Link(t, "reroll", reroll)
	r.Link(t, "helm", helm)
	line.Must(t, os.Symlink(charts, filepath.Join(r.Dir, "helm")))
	r.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "REROLL_") || strings.HasPrefix(v, "KUBECONFIG=") })
	r.Env = append(r.Env, "PATH="+r.Dir+"/bin:"+os.Getenv("PATH"), "HOME="+r.Dir)
	return r
}

// Link gives the reader a program.
func (r *Reader) Link(t *testing.T, name, target string) {
	t.Helper()
	line.Must(t, os.MkdirAll(r.Dir+"/bin", 0o700))
	line.Must(t, os.Symlink(target, filepath.Join(r.Dir, "bin", name)))
}

// Follow runs commands, each of which must end well, and returns what they print.
func (r *Reader) Follow(t *testing.T, commands ...string) string {
	t.Helper()
	var printed strings.Builder
	for _, command := range commands {
		shell := exec.CommandContext(t.Context(), "sh", "-euc", command)
		shell.Dir, shell.Env = r.Dir, r.Env
		output, err := shell.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", command, err, output)
		}
		printed.Write(output)
	}
	return printed.String()
}

// Replace replaces a text in a file, which must have it.
func (r *Reader) Replace(t *testing.T, name, text, by string) {
	t.Helper()
	file := filepath.Join(r.Dir, name)
	content, err := os.ReadFile(file)
	line.Must(t, err)
	if !strings.Contains(string(content), text) {
		t.Fatalf("%s has no %s:\n%s", name, text, content)
	}
	line.Must(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(content), text, by)), 0o600))
}

// APIServerFlags returns the flags in the settings for kubeadm in a folder.
func (r *Reader) APIServerFlags(t *testing.T, folder string) (flags []string) {
	t.Helper()
	var settings struct {
		APIServer struct {
			ExtraArgs []struct{ Name, Value string }
		}
	}
	content, err := os.ReadFile(filepath.Join(r.Dir, folder, "settings.yaml"))
	if err == nil {
		err = yaml.Unmarshal(content, &settings)
	}
	line.Must(t, err)
	for _, arg := range settings.APIServer.ExtraArgs {
		flags = append(flags, "--"+arg.Name+"="+arg.Value)
	}
	if len(flags) != 5 {
		t.Fatalf("the settings have the flags %q", flags)
	}
	return flags
}

// Commands returns the commands of a section, which must have some.
func Commands(t *testing.T, sections []Section, name string) []string {
	t.Helper()
	i := slices.IndexFunc(sections, func(s Section) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no commands under %q", name)
	}
	return sections[i].Commands
}
