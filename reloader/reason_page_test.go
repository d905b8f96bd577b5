package reloader

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

//go:generate go test . -run ^TestReasonsAreDocumented$ -update

// TestReasonsAreDocumented: the tables of docs/reasons-and-events.md are those of Reasons.
func TestReasonsAreDocumented(t *testing.T) {
	const page = "../docs/reasons-and-events.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for heading, p := range map[string]place{
		"Why a workload rolls for a config": asks, "Why it does not": declines, "Outcomes": ends, "Holds": holds, "Rollouts": rollsOut,
	} {
		before, rest, ok := strings.Cut(want, "\n## "+heading+"\n")
		const head = "| reason | meaning |\n|---|---|\n"
		intro, rest, tabled := strings.Cut(rest, head)
		_, rest, ended := strings.Cut(rest, "\n\n")
		if !ok || !tabled || !ended {
			t.Fatalf("the page has no section %q with a table", heading)
		}
		var rows strings.Builder
		for _, i := range Reasons {
			says := "The workload " + i.Says + "."
			if p == holds && i.in&deadLetter != 0 {
				says += " This is a dead letter."
			}
			if i.in&p != 0 && (p != ends || i.in&holds == 0) { // the page has those of both under Holds alone
				if i.Do != "" {
					says += " " + i.Do
				}
				fmt.Fprintf(&rows, "| `%s` | %s |\n", i.Reason, says)
			}
		}
		want = before + "\n## " + heading + "\n" + intro + head + rows.String() + "\n" + rest
	}
	if want == string(text) {
		return
	}
	if flag.Lookup("update").Value.String() != "true" {
		t.Fatal("the tables are not those of Reasons; run go generate ./reloader")
	}
	if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
