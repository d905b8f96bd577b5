package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// lines writes text for people, line by line. The first error is kept, and ends it.
type lines struct {
	w       io.Writer
	colours bool
	err     error
}

func newLines(w io.Writer, colours bool) *lines { return &lines{w: w, colours: colours} }

// add writes one line of painted parts.
func (l *lines) add(parts ...cell) {
	if l.err != nil {
		return
	}
	var b strings.Builder
	for _, part := range parts {
		part.text = printable(part.text)
		b.WriteString(paint(part, l.colours))
	}
	_, l.err = fmt.Fprintln(l.w, strings.TrimRight(b.String(), " "))
}

// addf writes one plain line.
func (l *lines) addf(format string, args ...any) { l.add(text(fmt.Sprintf(format, args...))) }

// field writes a name and its value, if it has one.
func (l *lines) field(name, value string) {
	if value != "" && value != dash {
		l.add(cell{fmt.Sprintf("%-12s ", name+":"), faint}, text(value))
	}
}

// progressEvery is how often a line of progress is written anew.
const progressEvery = 100 * time.Millisecond

// progress shows on a terminal that something goes on, on a line that it takes away at the end. Elsewhere it shows nothing.
type progress struct {
	w    io.Writer
	next time.Time
}

// newProgress shows nothing for the first while: most answers are there by then.
func newProgress(w io.Writer) *progress {
	if !isTerminal(w) || os.Getenv("TERM") == "dumb" {
		w = nil
	}
	return &progress{w: w, next: time.Now().Add(3 * progressEvery)}
}

func (p *progress) say(format string, args ...any) {
	if p.w == nil || time.Now().Before(p.next) {
		return
	}
	p.next = time.Now().Add(progressEvery)
	_, _ = fmt.Fprintf(p.w, "\r\x1b[K%s", printable(fmt.Sprintf(format, args...)))
}

func (p *progress) end() {
	if p.w != nil {
		_, _ = io.WriteString(p.w, "\r\x1b[K")
	}
}
