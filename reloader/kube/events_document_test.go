package kube

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/reloader"
)

// eventRow is a row of the table of Events in docs/reasons-and-events.md.
var eventRow = regexp.MustCompile("(?m)^\\| (`[A-Z][^|]*`) \\| (Normal|Warning) \\| `([A-Za-z]+)` \\|$")

// TestEventsAreDocumented: docs/reasons-and-events.md has a row for every reason, and its table of Events every outcome that is one, with its type
// and reason, and no other.
func TestEventsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/reasons-and-events.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[reloader.Reason]string{}
	for _, row := range eventRow.FindAllStringSubmatch(string(text), -1) {
		for _, outcome := range strings.Split(row[1], ", ") {
			documented[reloader.Reason(strings.Trim(outcome, "`"))] = row[2] + " " + row[3]
		}
	}
	for _, outcome := range slices.Sorted(maps.Keys(reloader.Reasons)) {
		if !strings.Contains(string(text), "\n| `"+string(outcome)+"` | ") {
			t.Errorf("%s has no row", outcome)
		}
		want := ""
		r := reloader.Reload{Outcome: outcome, Causes: []reloader.Cause{cause(reloader.ConfigMap, "app")}}
		for _, e := range eventsOf(web(), r) {
			want = e.Type + " " + e.Reason
		}
		if documented[outcome] != want {
			t.Errorf("%s is an Event %q, documented as %q", outcome, want, documented[outcome])
		}
		delete(documented, outcome)
	}
	for outcome := range documented {
		t.Errorf("%s is documented and is no outcome", outcome)
	}
}
