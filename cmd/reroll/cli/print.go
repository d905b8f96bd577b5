package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
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

// style is how a cell is painted, as terminals understand it.
type style string

// The styles.
const (
	plain style = ""
	good  style = "\x1b[32m"
	alert style = "\x1b[33m"
	bad   style = "\x1b[31m"
	faint style = "\x1b[2m"
	bold  style = "\x1b[1m"
	reset       = "\x1b[0m"
)

// cell is a part of a line.
type cell struct {
	text  string
	style style
}

func text(s string) cell { return cell{text: s} }

type lines struct {
	w       io.Writer
	colours bool
	err     error
}

func newLines(w io.Writer) *lines {
	_, refused := os.LookupEnv("NO_COLOR")
	return &lines{w: w, colours: !refused && os.Getenv("TERM") != "dumb" && isTerminal(w)}
}

// add writes one line of painted parts.
func (l *lines) add(parts ...cell) {
	if l.err != nil {
		return
	}
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(l.paint(part))
	}
	_, l.err = fmt.Fprintln(l.w, strings.TrimRight(b.String(), " "))
}

func (l *lines) addf(format string, args ...any) { l.add(text(fmt.Sprintf(format, args...))) }

func (l *lines) paint(c cell) string {
	c.text = printable(c.text)
	if !l.colours || c.style == plain || c.text == "" {
		return c.text
	}
	return string(c.style) + c.text + reset
}

// next writes the next command on a line of its own.
func (l *lines) next(indent, command string) {
	if command != "" {
		l.add(text(indent+"Next: "), cell{command, bold})
	}
}

// column is one column of a table; a wide one is shown on request, and an age changes by itself.
type column struct {
	name      string
	wide, age bool
}

// columnsOf returns the columns of names: with + in front those that are wide, with * behind those that are ages.
func columnsOf(names string) (columns []column) {
	for name := range strings.SplitSeq(names, ", ") {
		columns = append(columns, column{name: strings.Trim(name, "+*"), wide: name[0] == '+', age: strings.HasSuffix(name, "*")})
	}
	return columns
}

const gap = "   "

// table writes rows below the names of columns, aligned. widths are those of an earlier call, whose table continues; nil begins a table.
func (l *lines) table(columns []column, rows []row, wide bool, widths []int) []int {
	if widths == nil {
		widths = make([]int, len(columns))
		head := make([]cell, len(columns))
		for i, c := range columns {
			head[i] = cell{c.name, bold}
		}
		rows = append([]row{{cells: head}}, rows...)
	}
	for _, row := range rows {
		for i, c := range row.cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(printable(c.text)))
		}
	}
	for _, row := range rows {
		var parts []cell
		for i, c := range row.cells {
			if wide || !columns[i].wide {
				parts = append(parts, c, text(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(printable(c.text)))+gap))
			}
		}
		l.add(parts...)
	}
	return widths
}

// printableLines returns text without what a terminal would obey: others choose names and messages.
func printableLines(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r), r == '\n':
			return r
		case r == '\t':
			return ' '
		}
		return unicode.ReplacementChar
	}, text)
}

// printable is printableLines on one line.
func printable(text string) string { return strings.ReplaceAll(printableLines(text), "\n", " ") }

func isTerminal(w any) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && file.Name() != os.DevNull
}

const dash = "-"

// since returns the age of t, as kubectl says it.
func since(now, t time.Time) string {
	if t.IsZero() {
		return dash
	}
	return duration.HumanDuration(max(0, now.Sub(t)))
}

func exactly(t time.Time) string {
	if t.IsZero() {
		return dash
	}
	return t.UTC().Format(time.RFC3339)
}

// count says how many there are of something.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// union returns a, and those of b that are not among them.
func union(a, b []string) []string {
	return slices.Concat(a, slices.DeleteFunc(slices.Clone(b), func(s string) bool { return slices.Contains(a, s) }))
}
