package migrate_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/tests/tools"
)

const root = "../.."

// The sections of the guide that have commands.
const (
	before  = "What you need"
	observe = "1. Observe beside it"
	swap    = "2. Swap"
	cleanUp = "3. Clean up"
	goBack  = "Go back"
)

var (
	heading = regexp.MustCompile(`(?m)^## (.+)$`)
	fenced  = regexp.MustCompile("(?ms)^```sh\n(.*?)\n```$")
)

// guide is the commands of docs/migrate-from-stakater.md, by section.
type guide map[string][]string

func readGuide(t *testing.T) guide {
	t.Helper()
	text, err := os.ReadFile(root + "/docs/migrate-from-stakater.md")
	if err != nil {
		t.Fatal(err)
	}
	g := guide{}
	headings := heading.FindAllSubmatchIndex(text, -1)
	for i, at := range headings {
		end := len(text)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		name := string(text[at[2]:at[3]])
		for _, command := range fenced.FindAllSubmatch(text[at[1]:end], -1) {
			g[name] = append(g[name], string(command[1]))
		}
	}
	return g
}

// TestEverySectionIsRun: no command of the guide is outside the sections that TestGuide runs, or in a fence that it does not see.
func TestEverySectionIsRun(t *testing.T) {
	g := readGuide(t)
	want := slices.Sorted(slices.Values([]string{before, observe, swap, cleanUp, goBack}))
	if got := slices.Sorted(maps.Keys(g)); !slices.Equal(got, want) {
		t.Errorf("commands are in %q, not in %q", got, want)
	}
	text, err := os.ReadFile(root + "/docs/migrate-from-stakater.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, section := range g {
		commands += len(section)
	}
	if fences := strings.Count(string(text), "```"); fences != 2*commands {
		t.Errorf("there are %d fences for %d commands", fences, commands)
	}
}

// reader is who follows the guide: a shell in a folder with the chart, its values and the tools.
type reader struct {
	guide guide
	dir   string
	env   []string
	pod   *pod
}

// newReader returns a reader who has written values into the file that the guide asks for.
func newReader(t *testing.T, values string) *reader {
	t.Helper()
	helm, err := tools.Path(t.Context(), "helm")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	kubectl := shared.Kube.Command(t.Context())
	chart, err := filepath.Abs(root + "/helm")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir+"/bin", 0o700); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"bin/kubectl": kubectl.Path, "bin/helm": helm, "helm": chart} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/values.yaml", []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(kubectl.Env, "PATH="+dir+"/bin:"+os.Getenv("PATH"), "HOME="+dir, "API="+shared.Reroll.API, "OPS="+shared.Reroll.Ops)
	return &reader{guide: readGuide(t), dir: dir, env: env, pod: newPod(t)}
}

// follow runs the commands of a section, and returns what they print. Before those that have a text of meanwhile in them, something
// happens.
func (r *reader) follow(t *testing.T, section string, meanwhile map[string]func()) string {
	t.Helper()
	var printed strings.Builder
	for _, command := range r.guide[section] {
		for text, happens := range meanwhile {
			if strings.Contains(command, text) {
				happens()
			}
		}
		output := r.run(t, command)
		printed.WriteString(output)
		if strings.Contains(command, "/api/v1/") {
			expectItem(t, command, output)
		}
		if strings.Contains(command, "helm install") || strings.Contains(command, "helm upgrade") {
			r.pod.restart(t)
		}
	}
	return printed.String()
}

// run runs a command in a shell, and returns what it prints.
func (r *reader) run(t *testing.T, command string) string {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "sh", "-euc", command)
	shell.Dir, shell.Env = r.dir, r.env
	output, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", command, err, output)
	}
	return string(output)
}

// expectItem checks that a listing shows the workload that was edited.
func expectItem(t *testing.T, command, output string) {
	t.Helper()
	var page struct {
		Items []struct {
			Workload struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(output), &page); err != nil {
		t.Errorf("%s: %v: %s", command, err, output)
	}
	for _, item := range page.Items {
		if item.Workload.Name == "seen" {
			return
		}
	}
	t.Errorf("%s does not show the workload: %s", command, output)
}
