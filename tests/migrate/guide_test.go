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

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/tools"
)

const root = "../.."

// The sections of the guide for Stakater Reloader that have commands.
const (
	before  = "What you need"
	observe = "1. Observe beside it"
	swap    = "2. Swap"
	cleanUp = "3. Clean up"
	goBack  = "Go back"
)

// The sections of the other guides that have commands.
const (
	sortOut      = "1. Look"
	observeOther = "2. Observe beside it"
	swapOther    = "3. Swap"
	cleanUpOther = "4. Clean up"
)

// sections are those that have commands, by the tool whose guide it is.
func sections(tool string) []string {
	if tool == "stakater" {
		return []string{before, observe, swap, cleanUp, goBack}
	}
	return []string{sortOut, observeOther, swapOther, cleanUpOther}
}

var (
	heading = regexp.MustCompile(`(?m)^## (.+)$`)
	fenced  = regexp.MustCompile("(?ms)^```sh\n(.*?)\n```$")
)

// guide is the commands of one of docs/migrate-from-….md, by section.
type guide map[string][]string

func guideText(t *testing.T, tool string) []byte {
	t.Helper()
	text, err := os.ReadFile(root + "/docs/migrate-from-" + tool + ".md")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func readGuide(t *testing.T, tool string) guide {
	t.Helper()
	text := guideText(t, tool)
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

// TestEverySectionIsRun: no command of a guide is outside the sections that TestGuide and TestOtherGuides run, or in a fence that they do not
// see, and there is no guide that none of them follows.
func TestEverySectionIsRun(t *testing.T) {
	tools := append([]string{"stakater"}, otherTools()...)
	for _, tool := range tools {
		g := readGuide(t, tool)
		want := slices.Sorted(slices.Values(sections(tool)))
		if got := slices.Sorted(maps.Keys(g)); !slices.Equal(got, want) {
			t.Errorf("%s: commands are in %q, not in %q", tool, got, want)
		}
		commands := 0
		for _, section := range g {
			commands += len(section)
		}
		if fences := strings.Count(string(guideText(t, tool)), "```"); fences != 2*commands {
			t.Errorf("%s: there are %d fences for %d commands", tool, fences, commands)
		}
	}
	guides, err := filepath.Glob(root + "/docs/migrate-from-*.md")
	if err != nil || len(guides) != len(tools) {
		t.Errorf("%d guides are followed, of %q: %v", len(tools), guides, err)
	}
}

// reader is who follows the guide: a shell in a folder with the chart, its values and the tools.
type reader struct {
	guide guide
	dir   string
	env   []string
	pod   *pod
}

// newReader returns a reader of the guide of a tool, who has written values into the file that it asks for.
func newReader(t *testing.T, tool, values string) *reader {
	t.Helper()
	helm, err := tools.Path(t.Context(), "helm")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	reroll, err := line.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kubectl := shared.Kube.Command(t.Context())
	chart, err := filepath.Abs(root + "/helm")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir+"/bin", 0o700); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"bin/kubectl": kubectl.Path, "bin/helm": helm, "bin/reroll": reroll, "helm": chart} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/values.yaml", []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(kubectl.Env, "PATH="+dir+"/bin:"+os.Getenv("PATH"), "HOME="+dir, "API="+shared.Reroll.API, "OPS="+shared.Reroll.Ops)
	return &reader{guide: readGuide(t, tool), dir: dir, env: env, pod: newPod(t)}
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
