package cli

import (
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"
)

// style is how a cell is painted.
type style string

// The styles, as terminals understand them.
const (
	plain style = ""
	good  style = "\x1b[32m"
	warn  style = "\x1b[33m"
	bad   style = "\x1b[31m"
	faint style = "\x1b[2m"
	bold  style = "\x1b[1m"
	reset       = "\x1b[0m"
)

// cell is one field of a table.
type cell struct {
	text  string
	style style
}

func text(s string) cell { return cell{text: s} }

// column is one column of a table; a wide one is shown only on request.
type column struct {
	name string
	wide bool
}

// table is rows under columns.
type table struct {
	columns []column
	rows    [][]cell
}

func (t *table) add(cells ...cell) { t.rows = append(t.rows, cells) }

// gap stands between two columns.
const gap = "   "

// write writes t with its columns aligned.
func (t *table) write(w io.Writer, wide, headers, colours bool) error {
	var lines [][]cell
	if headers {
		var names []cell
		for _, c := range t.columns {
			names = append(names, cell{c.name, bold})
		}
		lines = append(lines, names)
	}
	lines = append(lines, t.rows...)
	widths := make([]int, len(t.columns))
	for _, line := range lines {
		for i, c := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(printable(c.text)))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		var row strings.Builder
		for i, c := range line {
			if t.columns[i].wide && !wide {
				continue
			}
			c.text = printable(c.text)
			row.WriteString(paint(c, colours))
			row.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text)) + gap)
		}
		b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func paint(c cell, colours bool) string {
	if !colours || c.style == plain || c.text == "" {
		return c.text
	}
	return string(c.style) + c.text + reset
}

// printable returns text without what a terminal would obey: names and messages come from whoever may write to a cluster.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		if r == '\n' || r == '\t' {
			return ' '
		}
		return unicode.ReplacementChar
	}, text)
}

// dash stands for what is not there.
const dash = "-"

func orDash(s string) string {
	if s == "" {
		return dash
	}
	return s
}

// since returns how long ago t was, as kubectl says it.
func since(now, t time.Time) string {
	if t.IsZero() {
		return dash
	}
	return duration.HumanDuration(max(0, now.Sub(t)))
}

// ago is since in a sentence.
func ago(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return since(now, t) + " ago"
}

// exactly returns t to the second.
func exactly(t time.Time) string {
	if t.IsZero() {
		return dash
	}
	return t.UTC().Format(time.RFC3339)
}

// seconds returns a latency as people read it.
func seconds(s *float64) string {
	if s == nil {
		return dash
	}
	return time.Duration(*s * float64(time.Second)).Round(time.Millisecond).String()
}
