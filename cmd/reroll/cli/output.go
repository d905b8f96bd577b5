package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"
)

// The formats of answers. A jsonpath has its template after an equals sign.
const (
	formatTable = ""
	formatWide  = "wide"
	formatJSON  = "json"
	formatYAML  = "yaml"
	formatName  = "name"
	formatPath  = "jsonpath"
)

// allFormats are those of commands whose answer has rows.
var allFormats = []string{formatWide, formatJSON, formatYAML, formatName, formatPath}

// answer is what a command has found, ready to be shown in any format.
type answer struct {
	// body is what the API said, and names what other commands call its rows.
	body  json.RawMessage
	names []string
	// show writes it for people.
	show func(w io.Writer, wide, headers, colours bool) error
}

// output says how an answer is shown.
type output struct {
	format    string
	noHeaders bool
	formats   []string
}

// bind declares the flags of a command whose answer for people is, or can be, a table.
func (o *output) bind(cmd *cobra.Command, formats ...string) {
	o.bindPlain(cmd, formats...)
	if slices.Contains(formats, formatWide) {
		cmd.Flags().BoolVar(&o.noHeaders, "no-headers", false, "leave out the names of the columns")
	}
}

// bindPlain is bind for a command without tables.
func (o *output) bindPlain(cmd *cobra.Command, formats ...string) {
	o.formats = formats
	usage := "how the answer is shown: " + strings.Join(formats, ", ") + "; for people if empty"
	cmd.Flags().StringVarP(&o.format, "output", "o", "", strings.Replace(usage, formatPath, formatPath+"=TEMPLATE", 1))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// form is the format without its template.
func (o *output) form() string {
	name, _, _ := strings.Cut(o.format, "=")
	return name
}

// tabular reports whether the answer is a table.
func (o *output) tabular() bool { return o.format == formatTable || o.format == formatWide }

// check refuses a format that the command does not have, before anything is asked.
func (o *output) check() error {
	name, template, hasTemplate := strings.Cut(o.format, "=")
	switch {
	case o.format == "":
		return nil
	case !slices.Contains(o.formats, name) && slices.Contains(allFormats, name):
		return Usage(fmt.Errorf("--output: there is no %s of this answer, but %s", name, strings.Join(o.formats, ", ")))
	case !slices.Contains(o.formats, name):
		return Usage(fmt.Errorf("--output: %q is not %s", o.format, strings.Join(o.formats, ", ")))
	case name == formatPath:
		if !hasTemplate || template == "" {
			return Usage(fmt.Errorf("--output: %s needs a template, such as %s={.items[*].id}", formatPath, formatPath))
		}
		return Usage(jsonpath.New("").Parse(braced(template)))
	case hasTemplate:
		return Usage(fmt.Errorf("--output: %s takes no template", name))
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

// print writes an answer.
func (o *output) print(w io.Writer, a answer) error {
	name, template, _ := strings.Cut(o.format, "=")
	if isTerminal(w) && slices.Contains([]string{formatJSON, formatYAML, formatPath}, name) {
		w = calm{w}
	}
	switch name {
	case formatJSON:
		return printJSON(w, a.body)
	case formatYAML:
		content, err := yaml.JSONToYAML(a.body)
		if err != nil {
			return fmt.Errorf("show the answer as YAML: %w", err)
		}
		_, err = w.Write(content)
		return err
	case formatPath:
		return printPath(w, a.body, template)
	case formatName:
		for _, name := range a.names {
			if _, err := fmt.Fprintln(w, printable(name)); err != nil {
				return err
			}
		}
		return nil
	}
	return a.show(w, name == formatWide, !o.noHeaders, coloured(w))
}

func printJSON(w io.Writer, body json.RawMessage) error {
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return fmt.Errorf("show the answer as JSON: %w", err)
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

func printPath(w io.Writer, body json.RawMessage, template string) error {
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
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

// coloured reports whether w is a terminal that wants colours.
func coloured(w io.Writer) bool {
	_, refused := os.LookupEnv("NO_COLOR")
	return !refused && os.Getenv("TERM") != "dumb" && isTerminal(w)
}

func isTerminal(w any) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && file.Name() != os.DevNull
}

// calm keeps from a terminal what it would obey, in formats that are not this program's own.
type calm struct{ io.Writer }

// Write writes what is printable, line by line.
func (c calm) Write(p []byte) (int, error) {
	lines := strings.Split(string(p), "\n")
	for i, line := range lines {
		lines[i] = printable(line)
	}
	if _, err := io.WriteString(c.Writer, strings.Join(lines, "\n")); err != nil {
		return 0, err
	}
	return len(p), nil
}
