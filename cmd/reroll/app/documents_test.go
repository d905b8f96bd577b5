package app

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/cmd/reroll/cli"
	"github.com/reroll-dev/reroll/cmd/reroll/config"
)

var (
	// callInBlock is a line of a document that calls reroll, callInText a call amid text.
	callInBlock = regexp.MustCompile(`(?m)^ *(?:\$ )?reroll ([a-z].*)$`)
	callInText  = regexp.MustCompile("`reroll ([a-z][^`]*)`")
	// callEnd is where the words of a call end: what follows is the shell's, or left out.
	callEnd = regexp.MustCompile(`[|>&;#…]|\{\{|\.\.\.|\\$`)
)

// TestDocumentedCommandsAreThere: what any document and the example of a command shows is a command, with flags that it has. The commands of the
// quick start and of the guides are run elsewhere.
func TestDocumentedCommandsAreThere(t *testing.T) {
	documents := []string{"../../../README.md", "../../../SECURITY.md", "../../../CONTRIBUTING.md", "../../../helm/reroll/README.md", "../../../helm/reroll/templates/NOTES.txt"}
	err := filepath.WalkDir("../../../docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			documents = append(documents, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, document := range documents {
		content, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(content), "\\\n", " ")
		for _, call := range append(callInBlock.FindAllStringSubmatch(text, -1), callInText.FindAllStringSubmatch(text, -1)...) {
			calls++
			if err := checkCall(call[1]); err != nil {
				t.Errorf("%s: reroll %s: %v", document, call[1], err)
			}
		}
	}
	for _, cmd := range commands(t) {
		if !cmd.HasSubCommands() && !strings.Contains(cmd.Example, cmd.CommandPath()) {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for line := range strings.Lines(strings.ReplaceAll(cmd.Example, "\\\n", " ")) {
			if _, call, found := strings.Cut(line, "reroll "); found {
				if err := checkCall(strings.TrimSpace(call)); err != nil {
					t.Errorf("%s: example %s: %v", cmd.CommandPath(), line, err)
				}
			}
		}
	}
	if calls < 100 {
		t.Errorf("only %d calls were found", calls)
	}
}

// checkCall looks for the command and the flags of a call.
func checkCall(call string) error {
	if end := callEnd.FindStringIndex(call); end != nil {
		call = call[:end[0]]
	}
	words := strings.Fields(call)
	root := Command("v1.2.3")
	cmd, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	if cmd == root || cmd.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return errors.New("no command is called that")
	}
	cmd.InitDefaultHelpFlag()
	var errs []error
	for _, word := range words {
		name, _, _ := strings.Cut(word, "=")
		long, isLong := strings.CutPrefix(name, "--")
		short, isShort := strings.CutPrefix(name, "-")
		switch {
		case isLong && long != "" && cmd.Flag(long) == nil:
			errs = append(errs, fmt.Errorf("it has no --%s", long))
		case !isLong && isShort && len(short) == 1 && cmd.Flags().ShorthandLookup(short) == nil && cmd.InheritedFlags().ShorthandLookup(short) == nil:
			errs = append(errs, fmt.Errorf("it has no -%s", short))
		}
	}
	return errors.Join(errs...)
}

// TestComposeCommands: the processes of the Compose file are commands, with flags and values that they have.
func TestComposeCommands(t *testing.T) {
	text, err := os.ReadFile("../../../docker-compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct{ Command []string }
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, component := range []string{"ingest", "dispatch", "api"} {
		service := file.Services[component]
		var flags config.Flags
		set := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		flags.Bind(set)
		if err := set.Parse(service.Command); err != nil {
			t.Fatal(err)
		}
		s, err := flags.Load()
		if err != nil || set.Arg(0) != "serve" || !slices.Equal(s.Components, []string{component}) {
			t.Fatalf("service %s runs %q: %v", component, service.Command, err)
		}
	}
}

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
	want := written + commandsGenerated + commandTables(commands(t))
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

// commandTables describes the exit codes and the flags that have one meaning everywhere, and lists every command that does something with its own flags.
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
	codes := "\n## Exit codes\n\n| code | meaning |\n|---|---|\n"
	for code, meaning := range cli.ExitCodes {
		codes += fmt.Sprintf("| %d | %s |\n", code, meaning)
	}
	return codes + "\n## Flags that have one meaning on every command\n\n| flag and default | meaning |\n|---|---|\n" + shared.String() +
		"\n## Commands\n\nThe last column has the defaults of flags. `reroll COMMAND --help` explains each flag, and has examples.\n\n" +
		"| command | what it does | its own flags |\n|---|---|---|\n" + table.String()
}

// cell keeps a text inside its cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
