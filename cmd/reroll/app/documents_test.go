package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

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
		errs = append(errs, checkFlag(cmd, word))
	}
	return errors.Join(errs...)
}

// checkFlag looks for a flag; what is none is nothing to look for.
func checkFlag(cmd *cobra.Command, word string) error {
	name, _, _ := strings.Cut(word, "=")
	long, isLong := strings.CutPrefix(name, "--")
	short, isShort := strings.CutPrefix(name, "-")
	switch {
	case isLong && long != "" && cmd.Flag(long) == nil:
		return fmt.Errorf("it has no --%s", long)
	case !isLong && isShort && len(short) == 1 && cmd.Flags().ShorthandLookup(short) == nil && cmd.InheritedFlags().ShorthandLookup(short) == nil:
		return fmt.Errorf("it has no -%s", short)
	}
	return nil
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
