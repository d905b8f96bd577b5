package audit

import (
	"bytes"
	"errors"
	"hash/maphash"
	"iter"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// tolerant lets pass what anyone who may patch an object can bring into an event.
var tolerant = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// reader reads one JSON value, part after part, until err. It copies what it keeps of it. Its zero value is ready for start.
type reader struct {
	decoder jsontext.Decoder
	from    bytes.Buffer
	err     error
	// words are short texts, of which most come again.
	words [256]string
	// scratch has the last text that was escaped.
	scratch []byte
}

// What is not of the wanted type: a required value spoils what it is in, unless it is null, and an optional one is as if it were not there.
const required, optional = true, false

var errSpoiled = errors.New("a value has the wrong type")

// start has r read the value at the start of b, of at most limit bytes.
func (r *reader) start(b []byte, limit int) {
	r.from, r.err = *bytes.NewBuffer(b[:min(len(b), limit)]), nil
	r.decoder.Reset(&r.from, tolerant)
}

// next reads one value. It is valid until the next one is read.
func (r *reader) next() (v jsontext.Value) {
	if r.err == nil {
		v, r.err = r.decoder.ReadValue()
	}
	return v
}

func (r *reader) skip() {
	if r.err == nil {
		r.err = r.decoder.SkipValue()
	}
}

// is reports whether the next value is of that kind, and otherwise reads it.
func (r *reader) is(kind jsontext.Kind, must bool) bool {
	if r.err == nil && r.decoder.PeekKind() == kind {
		return true
	}
	if v := r.next(); must && r.err == nil && v.Kind() != jsontext.KindNull {
		r.err = errSpoiled
	}
	return false
}

// members yields the name of each member of an object. The caller reads the value before it takes the next name.
func (r *reader) members(must bool) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if !r.is(jsontext.KindBeginObject, must) {
			return
		}
		_, r.err = r.decoder.ReadToken()
		for r.err == nil && r.decoder.PeekKind() == jsontext.KindString && yield(r.plain(r.next())) {
		}
		if r.err == nil {
			_, r.err = r.decoder.ReadToken()
		}
	}
}

// field is a text in an object.
type field struct {
	name string
	into *string
}

// texts reads an object with those fields. They are empty if it lacks them.
func (r *reader) texts(must bool, fields ...field) {
	for _, f := range fields {
		*f.into = ""
	}
	for name := range r.members(must) {
		r.pick(name, must, fields...)
	}
}

// pick reads the value of the field of that name, and skips that of any other.
func (r *reader) pick(name []byte, must bool, fields ...field) {
	for _, f := range fields {
		if f.name == string(name) {
			r.text(f.into, must)
			return
		}
	}
	r.skip()
}

func (r *reader) text(into *string, must bool) {
	*into = ""
	if r.is(jsontext.KindString, must) {
		*into = r.word(r.plain(r.next()))
	}
}

// lastText reads an array.
func (r *reader) lastText(into *string) {
	*into = ""
	if !r.is(jsontext.KindBeginArray, optional) {
		return
	}
	_, r.err = r.decoder.ReadToken()
	for r.err == nil && r.decoder.PeekKind() != jsontext.KindEndArray {
		r.text(into, optional)
	}
	if r.err == nil {
		_, r.err = r.decoder.ReadToken()
	}
}

// highestCode is the greatest number that can be an HTTP status.
const highestCode = 999

// code reads the code of a status, also one that a shipper made a fraction. What cannot be one is zero, so that the outcome counts as unknown.
func (r *reader) code(into *int) {
	*into = 0
	for name := range r.members(optional) {
		if string(name) != "code" {
			r.skip()
		} else if n, err := strconv.ParseFloat(string(r.next()), 64); err == nil && n >= 0 && n <= highestCode && n == math.Trunc(n) {
			*into = int(n)
		} else {
			*into = 0
		}
	}
}

var seed = maphash.MakeSeed()

// plain returns the text that quoted is, in its memory if it is there as it is.
func (r *reader) plain(quoted []byte) []byte {
	if r.err != nil {
		return nil
	}
	text := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(text, '\\') >= 0 || !utf8.Valid(text) {
		text, r.err = unquote(r.scratch[:0], quoted)
		r.scratch = text
	}
	return text
}

// word returns a copy of text.
func (r *reader) word(text []byte) string {
	if len(text) > 64 {
		return string(text)
	}
	known := &r.words[maphash.Bytes(seed, text)%uint64(len(r.words))]
	if *known != string(text) {
		*known = string(text)
	}
	return *known
}

// unquote appends to an empty buffer what a JSON string holds. Bad UTF-8 becomes U+FFFD.
func unquote(to, quoted []byte) ([]byte, error) {
	if text, err := jsontext.AppendUnquote(slices.Grow(to, len(quoted)), quoted); err == nil {
		return text, nil
	}
	var text string
	err := json.Unmarshal(quoted, &text, tolerant)
	return []byte(text), err
}
