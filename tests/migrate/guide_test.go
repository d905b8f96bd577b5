package migrate_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/tests/guide"
	"github.com/reroll-dev/reroll/tests/line"
)

const root = "../.."

// The sections of the guide for Stakater Reloader that have commands.
const (
	before  = "What you need"
	observe = "1. Observe next to it"
	swap    = "2. Swap"
	cleanUp = "3. Clean up"
	goBack  = "Go back"
)

// The sections of the guide for the other tools that have commands.
const (
	sortOut      = "1. Look"
	observeOther = "2. Observe"
	swapOther    = "3. Swap"
	cleanUpOther = "4. Clean up"
)

// guides are the pages by the name that they end with, with their sections that have commands.
var guides = map[string][]string{
	"stakater": {before, observe, swap, cleanUp, goBack},
	"others":   {sortOut, observeOther, swapOther, cleanUpOther},
}

func guideFile(name string) string { return root + "/docs/migrate-from-" + name + ".md" }

func readGuide(t *testing.T, name string) []guide.Section {
	t.Helper()
	sections, err := guide.Read(guideFile(name))
	line.Must(t, err)
	return sections
}

// TestEverySectionIsRun: no command of a guide is outside the sections that TestGuide and TestOtherGuides run, or in a fence that they do not
// see, and there is no guide that none of them follows.
func TestEverySectionIsRun(t *testing.T) {
	for name, want := range guides {
		var got []string
		commands := 0
		for _, section := range readGuide(t, name) {
			got = append(got, section.Name)
			commands += len(section.Commands)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: commands are in %q, not in %q", name, got, want)
		}
		text, err := os.ReadFile(guideFile(name))
		line.Must(t, err)
		if fences := strings.Count(string(text), "```"); fences != 2*commands {
			t.Errorf("%s: there are %d fences for %d commands", name, fences, commands)
		}
	}
	files, err := filepath.Glob(root + "/docs/migrate-from-*.md")
	if err != nil || len(files) != len(guides) {
		t.Errorf("%d guides are followed, of %q: %v", len(guides), files, err)
	}
}

// reader follows a guide.
type reader struct {
	*guide.Reader
	sections []guide.Section
	// dir has the files of the process.
	dir string
}

// newReader returns a reader of a guide, with values in the file that it asks for.
func newReader(t *testing.T, name, values string) *reader {
	t.Helper()
	r := &reader{Reader: guide.NewReader(t, root), sections: readGuide(t, name), dir: t.TempDir()}
	t.Cleanup(shared.Reroll.Kill) // before its files go
	kubectl := shared.Kube.Command(t.Context())
	r.Link(t, "kubectl", kubectl.Path)
	r.Env = append(slices.Concat(kubectl.Env, r.Env), "API="+shared.Reroll.API, "OPS="+shared.Reroll.Ops, "TOOL=wave")
	line.Must(t, os.WriteFile(filepath.Join(r.Dir, "values.yaml"), []byte(values), 0o600))
	return r
}

// follow runs the commands of a section, and returns what they print. Before those that have a text of meanwhile in them, something
// happens.
func (r *reader) follow(t *testing.T, section string, meanwhile map[string]func()) string {
	t.Helper()
	var printed strings.Builder
	for _, command := range guide.Commands(t, r.sections, section) {
		for text, happens := range meanwhile {
			if strings.Contains(command, text) {
				happens()
			}
		}
		output := r.Follow(t, command)
		printed.WriteString(output)
		if strings.Contains(command, "/api/v1/") {
			expectItem(t, command, output)
		}
		if strings.Contains(command, "helm install") || strings.Contains(command, "helm upgrade") {
			restart(t, r.dir)
		}
	}
	return printed.String()
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
