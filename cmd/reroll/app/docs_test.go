package app

import (
	"flag"
	"fmt"
	"os"
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

// flagTables returns a table of flags for each role, and one of those that are the same as in Stakater Reloader.
func flagTables() string {
	var b strings.Builder
	shared := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(Stakater).bindStakater(shared)
	for _, r := range roles {
		fmt.Fprintf(&b, "\n### reroll %s\n\n%s.\n\n", r.name, r.short)
		if r.dispatch {
			b.WriteString("It has the flags of [Stakater Reloader](#stakater-reloader) as well.\n\n")
		}
		writeFlags(&b, flagsOf(r), shared)
	}
	b.WriteString("\n### Stakater Reloader\n\nThe flags of `reroll serve` and `reroll dispatch` that Stakater Reloader or its users have.\n\n")
	writeFlags(&b, shared, nil)
	b.WriteString("\nThe variables of Stakater Reloader that are no flags:\n\n| environment | meaning |\n|---|---|\n")
	for _, v := range new(Stakater).variables() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", v.name, v.meaning)
	}
	b.WriteString("\n")
	return b.String()
}

// writeFlags writes the table of all flags that are not among others.
func writeFlags(b *strings.Builder, flags, others *pflag.FlagSet) {
	b.WriteString("| flag | environment | default | meaning |\n|---|---|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if others == nil || others.Lookup(f.Name) == nil {
			fmt.Fprintf(b, "| `--%s` | `%s` | %s | %s |\n", f.Name, environmentName(f.Name), defaultOf(f), f.Usage)
		}
	})
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
