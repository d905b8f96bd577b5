package audit

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// maxLevels is how deep envelopes may nest. The deepest that is known has six: a text that holds the request of a delivery service,
// its records, one of them, the compressed batch in it, its log events, and one of these.
const maxLevels = 16

// level is what is needed once at each depth. It is reused from one event to the next.
type level struct {
	scan  *scanner
	event event
}

func (c *collector) level(depth int) *level {
	for len(c.levels) <= depth {
		c.levels = append(c.levels, &level{scan: newScanner(nil, c.opts)})
	}
	return c.levels[depth]
}

// walker finds the events in JSON, in whatever envelopes they are.
type walker struct {
	scan *scanner
	to   *collector
	// depth is how many envelopes are open. Beyond maxLevels nothing is looked at.
	depth int
	// understood says that at least one object or array was read to its end.
	understood bool
}

// open takes what r holds, JSON values one after the other. What is none costs itself alone.
func (c *collector) open(r io.Reader, depth int) error {
	if depth >= maxLevels {
		return c.spoil()
	}
	w := walker{scan: c.level(depth).scan, to: c, depth: depth}
	w.scan.reset(r)
	err := w.values()
	switch {
	case endsAll(err):
		return err
	case err != nil:
		return c.spoil()
	}
	return nil
}

// values reads the values that come next, up to the end.
func (w *walker) values() error {
	for {
		w.scan.begin()
		kind := w.scan.dec.PeekKind()
		if kind == jsontext.KindInvalid {
			_, err := w.scan.dec.ReadToken()
			if errors.Is(err, io.EOF) && w.scan.src.err == nil {
				return nil
			}
			return err
		}
		if err := w.value(); err != nil {
			return err
		}
		w.understood = w.understood || kind == jsontext.KindBeginObject || kind == jsontext.KindBeginArray
	}
}

// value reads the value that comes next: an event, an envelope, a list of them, or a text that is one.
func (w *walker) value() error {
	switch w.scan.dec.PeekKind() {
	case jsontext.KindBeginObject:
		return w.deeper((*walker).object)
	case jsontext.KindBeginArray:
		return w.deeper((*walker).array)
	case jsontext.KindString:
		return w.text()
	case jsontext.KindInvalid:
		_, err := w.scan.dec.ReadToken()
		return err
	}
	return w.pass()
}

// deeper reads a value with read, one level further down.
func (w *walker) deeper(read func(*walker) error) error {
	if w.depth+1 >= maxLevels {
		return w.pass()
	}
	return read(&walker{scan: w.scan, to: w.to, depth: w.depth + 1})
}

// pass counts the value that comes next as an event that cannot be read.
func (w *walker) pass() error {
	if err := w.scan.skip(); err != nil {
		return err
	}
	return w.to.spoil()
}

func (w *walker) array() error {
	if _, err := w.scan.dec.ReadToken(); err != nil {
		return err
	}
	for w.scan.dec.PeekKind() != jsontext.KindEndArray {
		w.scan.begin()
		if err := w.value(); err != nil {
			return err
		}
	}
	_, err := w.scan.dec.ReadToken()
	w.scan.begin()
	return err
}

// object reads an event or an envelope. Shippers can be told to keep the text beside what they parsed of it: such an object is both.
func (w *walker) object() error {
	e := &w.to.level(w.depth).event
	e.reset()
	if _, err := w.scan.dec.ReadToken(); err != nil {
		return err
	}
	opened := false
	for {
		name, ok, err := w.scan.member()
		switch {
		case err != nil:
			return err
		case !ok && e.isLogEntry:
			e.translate()
			return w.to.take(e)
		case !ok && opened && len(e.stage) == 0:
			return nil
		case !ok:
			return w.to.take(e)
		}
		isEnvelope, err := w.member(e, string(name))
		if err != nil {
			return err
		}
		opened = opened || isEnvelope
	}
}

// member reads the value of one member, and reports whether events were looked for in it.
func (w *walker) member(e *event, name string) (opened bool, err error) {
	if read, known := eventFields[name]; known {
		return false, read(w.scan, e)
	}
	if read, known := entryFields[name]; known {
		return false, read(w.scan, e)
	}
	in, known := envelopeOf(name)
	if !known || !in.kinds.has(w.scan.dec.PeekKind()) {
		return false, w.scan.skip()
	}
	return true, in.read(w)
}

// text reads a text that is JSON.
func (w *walker) text() error {
	text, err := w.scan.appendText(nil)
	if err != nil {
		return err
	}
	return w.to.open(bytes.NewReader(text), w.depth+1)
}

// gzipMagic begins everything that gzip has compressed.
var gzipMagic = []byte{0x1f, 0x8b}

// data reads a text that is JSON, in base64 and perhaps compressed before, or as it is.
func (w *walker) data() error {
	text, err := w.scan.appendText(nil)
	if err != nil {
		return err
	}
	decoded, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return w.to.open(bytes.NewReader(text), w.depth+1)
	}
	if !bytes.HasPrefix(decoded, gzipMagic) {
		return w.to.open(bytes.NewReader(decoded), w.depth+1)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(decoded))
	if err != nil {
		return w.to.spoil()
	}
	return w.to.open(&inflating{r: unzipped, of: w.to}, w.depth+1)
}

// inflating reads what is being decompressed, up to the limit for everything that is.
type inflating struct {
	r  io.Reader
	of *collector
}

// Read reads from the decompressor.
func (i *inflating) Read(p []byte) (int, error) {
	n, err := i.r.Read(p)
	i.of.inflated += int64(n)
	if limit := i.of.opts.Limits.MaxInflatedBytes; i.of.inflated > limit {
		return 0, fmt.Errorf("%w: its records are longer than %d bytes when decompressed; %s", ErrTooLarge, limit, i.of.opts.advice())
	}
	return n, err
}
