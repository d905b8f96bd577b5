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

func TestCommandLine(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		out  string
		err  string
	}{
		"version":            {args: []string{"version"}, out: "v1.2.3\n"},
		"help":               {args: []string{"--help"}, out: "serve "},
		"help of serve":      {args: []string{"serve", "--help"}, out: "--cluster-name"},
		"sound settings":     {args: []string{"serve", "--check", "--set", "debounce.window=2s"}},
		"misspelt setting":   {args: []string{"serve", "--check", "--set", "debunce.window=2s"}, err: `unknown key "debunce"; did you mean "debounce"?`},
		"unknown subcommand": {args: []string{"server"}, err: `unknown command "server"`},
		"unknown argument":   {args: []string{"serve", "now"}, err: `unknown command "now"`},
		"unknown flag":       {args: []string{"serve", "--no"}, err: "unknown flag: --no"},
		"misspelt flag":      {args: []string{"serve", "--dry-rum"}, err: "unknown flag: --dry-rum"},
		"wrong settings":     {args: []string{"serve", "--components=api"}, err: "nats.url is required"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			cmd := Command("v1.2.3")
			cmd.SetArgs(tc.args)
			cmd.SetOut(&out)
			cmd.SetErr(&out)
			err := cmd.ExecuteContext(t.Context())
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
			if !strings.Contains(out.String(), tc.out) || tc.err != "" && out.Len() > 0 {
				t.Errorf("output %q, want %q", out.String(), tc.out)
			}
		})
	}
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
