package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// DecodeShipped reads audit events from r, up to its end, as log shippers and delivery services send them: one event, an array of
// them, one or several behind each other or on each line, an EventList; each bare or in an envelope, as JSON or as a text that is JSON:
//
//   - log, message or short_message of a record, as Fluent Bit, Vector and others that read lines send it;
//   - records[].data of Amazon Data Firehose in base64, and in it the compressed logEvents[].message of Amazon CloudWatch Logs;
//   - records[].properties.log of Azure diagnostic settings;
//   - an entry of Google Cloud Logging, also as message.data of a Pub/Sub push.
//
// An event that cannot be read is skipped and counted, and so is a line that is not JSON and what is not an event, unless a whole body is
// nothing else. On an error there is no result at all.
func DecodeShipped(r io.Reader, opts Options) (Result, error) {
	opts = opts.withDefaults()
	d := &shippedDecoder{events: newCollector(opts), lines: &lineReader{r: bufio.NewReaderSize(r, 64<<10)}}
	if err := d.body(); err != nil {
		return Result{}, err
	}
	return d.events.result(), nil
}

// errNoEvents means that all of a body is something else than audit events, or that they are where nobody looks for them.
var errNoEvents = fmt.Errorf("%w: it is JSON, but holds no audit event in an envelope that Reroll knows; send the events bare, or in one of "+
	"those of docs/audit-events.md", ErrMalformed)

// shippedDecoder reads a body line by line, or as a whole if its lines mean nothing.
type shippedDecoder struct {
	events     *collector
	lines      *lineReader
	understood bool
	bad        error
}

func (d *shippedDecoder) body() error {
	lines := 0
	for d.lines.next() {
		lines++
		if err := d.line(); err != nil {
			return err
		}
	}
	switch {
	case d.lines.err != nil && !errors.Is(d.lines.err, io.EOF):
		return fmt.Errorf("read audit events: %w", d.lines.err)
	case lines == 0:
		return fmt.Errorf("%w: it is empty", ErrMalformed)
	case d.bad != nil && !d.understood:
		return d.bad
	case !d.understood:
		return fmt.Errorf("%w: it is JSON, but neither object nor array", ErrMalformed)
	case d.events.received > 0 && d.events.received == d.events.skipped[SkipNoEvent]:
		return errNoEvents
	}
	return nil
}

// line reads the values of one line, or of everything.
func (d *shippedDecoder) line() error {
	w := walker{scan: d.events.level(0).scan, to: d.events}
	w.scan.reset(d.lines)
	err := w.values()
	d.understood = d.understood || w.understood
	if err == nil {
		return nil
	}
	err = w.scan.explain(err)
	if d.lines.document || w.scan.src.err != nil || endsAll(err) {
		return err
	}
	d.bad = err
	return d.events.spoil()
}

// lineReader reads one line after the other. Each but the last ends with a newline. A body with an array or object that goes on
// behind its first line is one line.
type lineReader struct {
	r        *bufio.Reader
	document bool
	err      error

	begun, decided bool
	// ended is set behind a newline, where it may have to be decided whether the line ends.
	ended bool
	first nesting
}

// next goes to the next line that is not blank, past what is left of this one, and reports whether there is one.
func (l *lineReader) next() bool {
	if l.begun && !l.finish() {
		return false
	}
	l.ended = false
	for {
		b, err := l.r.Peek(1)
		if err != nil {
			l.err = err
			return false
		}
		if !isSpace(b[0]) {
			break
		}
		_, _ = l.r.Discard(1)
	}
	if !l.begun {
		l.start()
	}
	return true
}

// finish passes over what is left of a line, and reports whether something may follow.
func (l *lineReader) finish() bool {
	if l.document {
		return true
	}
	l.decided = true // whoever gives up a line takes it for one
	for !l.ended {
		_, err := l.r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			l.err = err
			return false
		}
		l.ended = err == nil
	}
	return true
}

// start looks at the first byte of the body.
func (l *lineReader) start() {
	l.begun = true
	b, _ := l.r.Peek(1)
	l.document = b[0] == '['
	l.decided = l.document
}

// Read reads to the end of the line at most.
func (l *lineReader) Read(p []byte) (int, error) {
	if l.ended && !l.decided {
		l.decide()
	}
	if l.ended && !l.document {
		return 0, io.EOF
	}
	if _, err := l.r.Peek(1); err != nil {
		l.err = err
		return 0, err
	}
	part, _ := l.r.Peek(min(l.r.Buffered(), len(p)))
	if at := bytes.IndexByte(part, '\n'); at >= 0 && !l.document {
		part, l.ended = part[:at+1], true
	}
	if !l.decided {
		l.first.pass(part)
	}
	n := copy(p, part)
	return l.r.Discard(n)
}

// decide looks behind the first newline. A new object there is another event, whatever was open before.
func (l *lineReader) decide() {
	l.decided = true
	b, err := l.r.Peek(1)
	l.document = l.first.open > 0 && err == nil && b[0] != '{'
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }
