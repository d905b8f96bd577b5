package app

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/cmd/reroll/cli"
)

//go:generate go test . -run ^(TestHelpIsGolden|TestCommandDocuments)$ -update

const (
	commandDocuments  = "../../../docs/cli"
	exitCodesDocument = "../../../docs/reference/exit-codes.md"
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

// isRole reports whether a command runs a role, whose flags are in the document about configuration.
func isRole(cmd *cobra.Command) bool {
	return slices.ContainsFunc(roles, func(r role) bool { return cmd.CommandPath() == "reroll "+r.name })
}

// TestEveryCommandIsExplained: the help of each has a sentence, and an example of which each line calls it.
func TestEveryCommandIsExplained(t *testing.T) {
	for _, cmd := range commands(t) {
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: %q is no short sentence", cmd.CommandPath(), cmd.Short)
		}
		if cmd.HasSubCommands() {
			continue
		}
		if !strings.Contains(cmd.Example, cmd.CommandPath()) {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || strings.HasSuffix(f.Usage, ".") {
				t.Errorf("%s --%s: %q is no short sentence", cmd.CommandPath(), f.Name, f.Usage)
			}
		})
	}
}

// TestExamplesAreUnderstood parses the flags of every example that calls a command.
func TestExamplesAreUnderstood(t *testing.T) {
	for _, cmd := range commands(t) {
		for line := range strings.Lines(strings.ReplaceAll(cmd.Example, "\\\n", " ")) {
			_, call, found := strings.Cut(line, cmd.CommandPath()+" ")
			if !found {
				continue
			}
			for _, word := range strings.Fields(call) {
				if word == "|" || word == ">" || word == "&" {
					break
				}
				name, isFlag := strings.CutPrefix(word, "--")
				name, _, _ = strings.Cut(name, "=")
				if isFlag && cmd.Flags().Lookup(name) == nil {
					t.Errorf("%s: the example has --%s, which there is not", cmd.CommandPath(), name)
				}
			}
		}
	}
}

// TestHelpIsGolden compares what --help prints with what was reviewed.
func TestHelpIsGolden(t *testing.T) {
	var names []string
	for _, cmd := range commands(t) {
		if isRole(cmd) {
			continue
		}
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "_") + ".txt"
		names = append(names, name)
		var help strings.Builder
		root := Command("v1.2.3")
		root.SetOut(&help)
		root.SetArgs(append(strings.Fields(cmd.CommandPath())[1:], "--help"))
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("testdata", "help", name), help.String())
	}
	only(t, filepath.Join("testdata", "help"), names)
}

// TestCommandDocuments compares the pages about commands with the commands.
func TestCommandDocuments(t *testing.T) {
	readme := filepath.Join(commandDocuments, "README.md")
	content, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	written, _, found := strings.Cut(string(content), commandsGenerated)
	if !found {
		t.Fatalf("%s lacks the line after which it is generated", readme)
	}
	all := commands(t)
	golden(t, readme, written+commandsGenerated+commandIndex(all))
	golden(t, exitCodesDocument, exitCodes())
	names := []string{"README.md"}
	for _, cmd := range all[1:] {
		names = append(names, pageName(cmd))
		golden(t, filepath.Join(commandDocuments, pageName(cmd)), commandPage(cmd))
	}
	only(t, commandDocuments, names)
}

// golden compares a file with what it should have, or makes it so.
func golden(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is out of date; run go generate ./cmd/reroll/app (-code +file):\n%s", file, diff)
	}
}

// only has a folder hold these files and no others.
func only(t *testing.T, folder string, names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		switch {
		case slices.Contains(names, entry.Name()):
		case *update:
			if err := os.Remove(filepath.Join(folder, entry.Name())); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s/%s is of no command", folder, entry.Name())
		}
	}
}

func pageName(cmd *cobra.Command) string {
	return strings.ReplaceAll(cmd.CommandPath(), " ", "_") + ".md"
}

// exitCodes is the page about exit codes.
func exitCodes() string {
	var b strings.Builder
	b.WriteString("# Exit codes\n\n<!-- Generated: go generate ./cmd/reroll/app -->\n\nEvery `reroll` command ends with one of these codes. A failure is one line on standard error.\n\n" +
		"| code | meaning |\n|---|---|\n")
	for code, meaning := range cli.ExitCodes {
		fmt.Fprintf(&b, "| %d | %s |\n", code, meaning)
	}
	return b.String()
}

// commandIndex lists the commands.
func commandIndex(all []*cobra.Command) string {
	var b strings.Builder
	b.WriteString("\n## Commands\n\n| command | what it does |\n|---|---|\n")
	for _, cmd := range all[1:] {
		if !cmd.HasSubCommands() {
			fmt.Fprintf(&b, "| [`%s`](%s) | %s |\n", cmd.CommandPath(), pageName(cmd), cell(cmd.Short))
		}
	}
	return b.String()
}

// commandPage is the page about one command.
func commandPage(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Generated: go generate ./cmd/reroll/app -->\n\n# %s\n\n%s.\n", cmd.CommandPath(), cmd.Short)
	if cmd.Long != "" {
		fmt.Fprintf(&b, "\n```text\n%s\n```\n", cmd.Long)
	}
	for _, below := range cmd.Commands() {
		fmt.Fprintf(&b, "\n* [`%s`](%s): %s\n", below.CommandPath(), pageName(below), below.Short)
	}
	if cmd.HasSubCommands() {
		return b.String()
	}
	fmt.Fprintf(&b, "\n```text\n%s\n```\n\n```sh\n%s\n```\n", cmd.UseLine(), unindented(cmd.Example))
	if isRole(cmd) {
		return b.String() + "\nIts flags are in [Configuration](../configuration.md).\n"
	}
	b.WriteString("\n| flag | default | meaning |\n|---|---|---|\n")
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		value := defaultOf(f)
		if f.Value.Type() == "bool" && f.DefValue == "false" {
			value = ""
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, value, cell(f.Usage))
	})
	return b.String()
}

// cell keeps a text inside its cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// unindented takes away the indent that help has.
func unindented(text string) string {
	return strings.TrimPrefix(strings.ReplaceAll(text, "\n  ", "\n"), "  ")
}
