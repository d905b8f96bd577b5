package reloader

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

//go:generate go test . -run AreDocumented$ -update

// checkTable compares the rows of the first table under a heading of a page, or writes them.
func checkTable(t *testing.T, page, heading, rows string) {
	t.Helper()
	page = "../docs/" + page
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const rule = "---|\n"
	before, rest, ok := strings.Cut(string(text), "\n## "+heading+"\n")
	head, rest, tabled := strings.Cut(rest, rule)
	found, rest, ended := strings.Cut(rest, "\n\n")
	switch {
	case !ok || !tabled || !ended || strings.Contains(head, "\n#"):
		t.Fatalf("%s has no section %q with a table", page, heading)
	case found+"\n" == rows:
		return
	case flag.Lookup("update").Value.String() != "true":
		t.Fatalf("%s, %s: the table is not that of the code; run go generate ./reloader", page, heading)
	}
	if err := os.WriteFile(page, []byte(before+"\n## "+heading+"\n"+head+rule+rows+"\n"+rest), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestReasonsAreDocumented: the tables of docs/reasons-and-events.md are those of Reasons.
func TestReasonsAreDocumented(t *testing.T) {
	for heading, p := range map[string]place{
		"Why a workload rolls for a config": asks, "Why it does not": declines, "Outcomes": ends, "Holds": holds, "Rollouts": rollsOut,
	} {
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
		checkTable(t, "reasons-and-events.md", heading, rows.String())
	}
}

// TestSourcesAreDocumented: the table of docs/audit-events.md is that of Sources.
func TestSourcesAreDocumented(t *testing.T) {
	var rows strings.Builder
	for _, i := range Sources {
		fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", i.Source, i.Says, i.Knows)
	}
	checkTable(t, "audit-events.md", "Sources", rows.String())
}
