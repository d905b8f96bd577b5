package cli

import (
	"cmp"
	"encoding/json"
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

// tabular reports whether the answer is for people.
func (g *globals) tabular() bool { return g.format == "" || g.format == formatWide }

// checkFormat refuses a format that cmd does not have.
func checkFormat(cmd *cobra.Command) error {
	format := cmd.Flag("output").Value.String()
	name, template, hasTemplate := strings.Cut(format, "=")
	switch {
	case name == formatPath:
		if !strings.Contains(template, "{") {
			return usagef("--output: %s needs a template, such as %s={.items[*].id}", formatPath, formatPath)
		}
		return jsonpath.New("").Parse(template)
	case format == formatMarkdown && cmd.Name() == "impact":
		return nil
	case hasTemplate, name != "" && !slices.Contains(formats, name):
		return usagef("--output: %q is not one of %s", format, strings.Join(formats, ", "))
	}
	return nil
}

func (g *globals) print(cmd *cobra.Command, a answer) error {
	w := cmd.OutOrStdout()
	if g.tabular() {
		l := newLines(w)
		a.show(l, g.format == formatWide)
		return l.err
	}
	said, err := g.render(a)
	if isTerminal(w) {
		said = printableLines(said)
	}
	if err == nil {
		_, err = io.WriteString(w, said)
	}
	return err
}

// render returns the answer for programs.
func (g *globals) render(a answer) (string, error) {
	var b strings.Builder
	switch name, template, _ := strings.Cut(g.format, "="); name {
	case formatName:
		for _, name := range a.names {
			b.WriteString(printable(name) + "\n")
		}
		return b.String(), nil
	case formatYAML:
		content, err := yaml.Marshal(a.body)
		return string(content), err
	case formatPath:
		var value any
		content, err := json.Marshal(a.body)
		if err == nil {
			err = json.Unmarshal(content, &value)
		}
		path := jsonpath.New("").AllowMissingKeys(true)
		if err = cmp.Or(err, path.Parse(template)); err == nil {
			err = path.Execute(&b, value)
		}
		return b.String() + "\n", err
	}
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(a.body)
	return b.String(), err
}

// done reports what a command has written to the cluster.
func (g *globals) done(cmd *cobra.Command, what, name, message string) error {
	body := map[string]string{"done": what, "name": name, "message": message}
	return g.print(cmd, answer{body: body, names: []string{name}, show: func(l *lines, _ bool) { l.add(text(message)) }})
}
