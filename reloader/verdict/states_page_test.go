package verdict

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/reloader"
)

// TestStatesAreDocumented: the table of docs/troubleshooting.md has each state once, with reasons that exist; those of dead letters stand at Failed.
func TestStatesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## What the states mean\n")
	table, _, _ := strings.Cut(rest, "\n## ")
	var states []State
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.HasPrefix(line, "| `") {
			continue
		}
		state := State(strings.Trim(cells[1], " `"))
		states = append(states, state)
		var reasons []reloader.Reason
		for i, word := range strings.Split(cells[3], "`") {
			if i%2 == 1 {
				reasons = append(reasons, reloader.Reason(word))
			}
		}
		for _, r := range reasons {
			if r.Says() == "" {
				t.Errorf("%s: there is no reason %q", state, r)
			}
		}
		for _, r := range reloader.DeadLetterReasons {
			if slices.Contains(reasons, r) != (state == Failed) {
				t.Errorf("%s: the reasons are %q, and a dead letter with the reason %s is Failed", state, reasons, r)
			}
		}
	}
	want := slices.Sorted(slices.Values(States))
	if slices.Sort(states); !slices.Equal(states, want) {
		t.Errorf("the page has the states %q, want %q", states, want)
	}
}
