package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"
)

// The formats of answers.
const (
	formatWide     = "wide"
	formatJSON     = "json"
	formatYAML     = "yaml"
	formatName     = "name"
	formatPath     = "jsonpath"
	formatMarkdown = "markdown"
)

// formats are those that a user chooses from.
var formats = []string{formatWide, formatJSON, formatYAML, formatName, formatPath + "=TEMPLATE"}

// answer is what a command has found, ready for each format.
type answer struct {
	// body is the answer for programs, and names has what other commands call its rows.
	body  any
	names []string
	// show writes it for people.
	show func(l *lines, wide bool)
}

// form is the format without its template.
func (g *globals) form() string {
	name, _, _ := strings.Cut(g.format, "=")
	return name
}

// tabular reports whether the answer is for people.
func (g *globals) tabular() bool { return g.format == "" || g.format == formatWide }

// checkFormat refuses an unknown format before anything is asked.
func (g *globals) checkFormat() error {
	name, template, hasTemplate := strings.Cut(g.format, "=")
	switch {
	case name == formatPath:
		if template == "" {
			return usagef("--output: %s needs a template, such as %s={.items[*].id}", formatPath, formatPath)
		}
		return Usage(jsonpath.New("").Parse(braced(template)))
	case hasTemplate, !slices.Contains([]string{"", formatWide, formatJSON, formatYAML, formatName, formatMarkdown}, name):
		return usagef("--output: %q is not one of %s", g.format, strings.Join(formats, ", "))
	}
	return nil
}

// braced lets a template go without its braces, as in kubectl.
func braced(template string) string {
	if strings.ContainsAny(template, "{}") {
		return template
	}
	return "{." + strings.TrimPrefix(template, ".") + "}"
}

func (g *globals) print(cmd *cobra.Command, a answer) error {
	w := cmd.OutOrStdout()
	if g.tabular() {
		l := newLines(w)
		a.show(l, g.format == formatWide)
		return l.err
	}
	if isTerminal(w) {
		w = calm{w}
	}
	_, template, _ := strings.Cut(g.format, "=")
	switch g.form() {
	case formatName:
		for _, name := range a.names {
			if _, err := fmt.Fprintln(w, printable(name)); err != nil {
				return err
			}
		}
		return nil
	case formatMarkdown:
		return usagef("--output: only impact has %s", formatMarkdown)
	}
	content, err := yaml.Marshal(a.body)
	if err != nil {
		return err
	}
	if g.form() == formatYAML {
		_, err = w.Write(content)
		return err
	}
	var value any
	if err := yaml.Unmarshal(content, &value); err != nil {
		return err
	}
	if g.form() == formatPath {
		return printPath(w, value, template)
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

func printPath(w io.Writer, value any, template string) error {
	path := jsonpath.New("").AllowMissingKeys(true)
	if err := path.Parse(braced(template)); err != nil {
		return Usage(err)
	}
	var found strings.Builder
	if err := path.Execute(&found, value); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	_, err := fmt.Fprintln(w, found.String())
	return err
}

// done reports what a command has written to the cluster.
func (g *globals) done(cmd *cobra.Command, what, name, message string) error {
	body := map[string]string{"done": what, "name": name, "message": message}
	return g.print(cmd, answer{body: body, names: []string{name}, show: func(l *lines, _ bool) { l.add(text(message)) }})
}
