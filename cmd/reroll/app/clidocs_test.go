package app

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/cmd/reroll/cli"
)

//go:generate go test . -run ^TestCommandDocument$ -update

var update = flag.Bool("update", false, "rewrite the document that is generated from the commands")

const (
	commandDocument   = "../../../docs/cli.md"
	commandsGenerated = "<!-- The rest is generated: go generate ./cmd/reroll/app -->\n"
)

// commands returns every command, parents first.
func commands(t *testing.T) (all []*cobra.Command) {
	t.Helper()
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.InitDefaultHelpFlag()
		all = append(all, cmd)
		for _, below := range cmd.Commands() {
			walk(below)
		}
	}
	walk(Command("v1.2.3"))
	return all
}

// screenLines are those of a screen that every page of help fits, and screenWidth is how wide its text may be above the flags.
const screenLines, screenWidth = 40, 100

// TestHelpFitsAScreen measures what --help prints.
func TestHelpFitsAScreen(t *testing.T) {
	for _, cmd := range commands(t) {
		var help strings.Builder
		cmd.SetOut(&help)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(help.String(), "\n"); n > screenLines || n < 3 {
			t.Errorf("%s --help has %d lines", cmd.CommandPath(), n)
		}
		text, _, _ := strings.Cut(help.String(), "\nFlags:\n")
		for line := range strings.Lines(text) {
			if len(line) > screenWidth+1 {
				t.Errorf("%s --help: %q is too wide", cmd.CommandPath(), line)
			}
		}
	}
}

// TestCommandDocument compares the page about commands with the commands.
func TestCommandDocument(t *testing.T) {
	content, err := os.ReadFile(commandDocument)
	if err != nil {
		t.Fatal(err)
	}
	written, _, found := strings.Cut(string(content), commandsGenerated)
	if !found {
		t.Fatalf("%s lacks the line after which it is generated", commandDocument)
	}
	want := written + commandsGenerated + exitCodes() + commandTables(commands(t))
	if *update {
		if err := os.WriteFile(commandDocument, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(content)); diff != "" {
		t.Errorf("%s is out of date; run go generate ./cmd/reroll/app (-code +file):\n%s", commandDocument, diff)
	}
}

// exitCodes is the table of exit codes.
func exitCodes() string {
	var b strings.Builder
	b.WriteString("\n## Exit codes\n\n| code | meaning |\n|---|---|\n")
	for code, meaning := range cli.ExitCodes {
		fmt.Fprintf(&b, "| %d | %s |\n", code, meaning)
	}
	return b.String()
}

// commandTables describes the flags that have one meaning everywhere, and lists every command that does something with its own flags.
func commandTables(all []*cobra.Command) string {
	all = slices.DeleteFunc(all, func(cmd *cobra.Command) bool { return !cmd.Runnable() })
	var shared, table strings.Builder
	nameOf := func(f *pflag.Flag) string {
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if value := f.DefValue; value != "" && value != "false" && value != "[]" {
			name += "=" + value
		}
		return "`" + name + "`"
	}
	all[0].Root().PersistentFlags().VisitAll(func(f *pflag.Flag) { fmt.Fprintf(&shared, "| %s | %s |\n", nameOf(f), cell(f.Usage)) })
	for _, cmd := range all {
		if cmd.HasSubCommands() {
			continue // it prints what it has below it
		}
		var own []string
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && !f.Hidden {
				own = append(own, nameOf(f))
			}
		})
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", cell(strings.TrimSuffix(cmd.UseLine(), " [flags]")), cell(cmd.Short), strings.Join(own, " "))
	}
	return "\n## Flags that have one meaning on every command\n\n| flag and default | meaning |\n|---|---|\n" + shared.String() +
		"\n## Commands\n\nThe last column has the defaults of flags. `reroll COMMAND --help` explains each flag, and has examples.\n\n" +
		"| command | what it does | its own flags |\n|---|---|---|\n" + table.String()
}

// cell keeps a text inside its cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
