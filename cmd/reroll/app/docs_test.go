package app

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

//go:generate go test . -run ^TestConfigurationDocument$ -update

var update = flag.Bool("update", false, "rewrite the documents that are generated from the code")

const (
	configurationDocument = "../../../docs/configuration.md"
	generatedBegin        = "<!-- The tables down to the next such line are generated: go generate ./cmd/reroll/app -->\n"
	generatedEnd          = "<!-- End of what is generated. -->\n"
)

// TestConfigurationDocument compares the tables of flags with the flags.
func TestConfigurationDocument(t *testing.T) {
	content, err := os.ReadFile(configurationDocument)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), generatedBegin)
	_, after, ended := strings.Cut(rest, generatedEnd)
	if !found || !ended {
		t.Fatalf("%s lacks the lines between which it is generated", configurationDocument)
	}
	want := before + generatedBegin + flagTables() + generatedEnd + after
	if *update {
		if err := os.WriteFile(configurationDocument, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(content)); diff != "" {
		t.Errorf("%s is out of date; run go generate ./cmd/reroll/app (-code +document):\n%s", configurationDocument, diff)
	}
}

// sections are the tables of flags, each with the first words of those that it has.
var sections = []struct{ title, words string }{
	{"Audit events", "ingest audit canary source"},
	{"NATS and storage", "nats data"},
	{"Hub", "hub"},
	{"REST API", "api auth redact"},
	{"Admission webhook", "admission"},
	{"What rolls, and when", "coalesce max min namespace reloads halt flap rollout maintenance reload mark dialects alternative sap sweep dry"},
	{"Others", ""},
}

// flagTables returns tables of the flags of all roles, and one of those that are the same as in Stakater Reloader.
func flagTables() string {
	var b strings.Builder
	shared := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(Stakater).bindStakater(shared)
	all, of := pflag.NewFlagSet("", pflag.ContinueOnError), map[string][]string{}
	for _, r := range roles {
		flagsOf(r).VisitAll(func(f *pflag.Flag) {
			of[f.Name] = append(of[f.Name], r.name)
			if all.Lookup(f.Name) == nil && shared.Lookup(f.Name) == nil {
				all.AddFlag(f)
			}
		})
	}
	written, renaming := map[string]bool{}, []string{}
	for _, s := range sections {
		fmt.Fprintf(&b, "\n### %s\n\n| flag | default | of | meaning |\n|---|---|---|---|\n", s.title)
		all.VisitAll(func(f *pflag.Flag) {
			word, _, _ := strings.Cut(f.Name, "-")
			if written[f.Name] || s.words != "" && !slices.Contains(strings.Fields(s.words), word) {
				return
			}
			if strings.HasSuffix(f.Name, "-annotation") {
				renaming = append(renaming, "`--"+f.Name+"`")
				written[f.Name] = true
				return
			}
			written[f.Name] = true
			who := strings.Join(of[f.Name], ", ")
			if len(of[f.Name]) == len(roles) {
				who = "all"
			}
			fmt.Fprintf(&b, "| `--%s` | %s | %s | %s |\n", f.Name, defaultOf(f), who, sentence(f))
		})
	}
	fmt.Fprintf(&b, "\n### Other keys of annotations\n\nThe annotations of other tools can be renamed: %s.\n", strings.Join(renaming, ", "))
	b.WriteString("\n### Stakater Reloader\n\nThe flags of `reroll serve` and `reroll dispatch` that Stakater Reloader or its users have.\n\n| flag | default | meaning |\n|---|---|---|\n")
	shared.VisitAll(func(f *pflag.Flag) {
		fmt.Fprintf(&b, "| `--%s` | %s | %s |\n", f.Name, defaultOf(f), sentence(f))
	})
	b.WriteString("\nIts variables that are no flags:\n\n| environment | meaning |\n|---|---|\n")
	for _, v := range new(Stakater).variables() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", v.name, v.meaning)
	}
	b.WriteString("\n")
	return b.String()
}

// sentence is the first one about a flag; --help has the others.
func sentence(f *pflag.Flag) string {
	first, _, _ := strings.Cut(f.Usage, "; ")
	first, _, _ = strings.Cut(first, ". ")
	return first
}

func defaultOf(f *pflag.Flag) string {
	if f.DefValue == "" || f.DefValue == "[]" {
		return ""
	}
	return "`" + f.DefValue + "`"
}

// TestExampleIsAccepted has the program read the document's example of a file.
func TestExampleIsAccepted(t *testing.T) {
	content, err := os.ReadFile(configurationDocument)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(content), "```yaml\n")
	example, _, ended := strings.Cut(rest, "```")
	if !found || !ended {
		t.Fatalf("%s has no example", configurationDocument)
	}
	if _, err := settingsOf(t, "serve", configFile(t, example)); err != nil {
		t.Error(err)
	}
}
