package audit

import (
	"bytes"
	"iter"
	"net/url"
)

// parameters returns the values of one parameter of uri, as the API server reads them: it ignores those that it cannot read. Nearly every
// event has some, so that nothing is unescaped that need not be.
func parameters(uri []byte, name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		_, rest, more := bytes.Cut(uri, []byte("?"))
		for more {
			var pair []byte
			pair, rest, more = bytes.Cut(rest, []byte("&"))
			if bytes.IndexByte(pair, ';') >= 0 {
				continue
			}
			key, value, _ := bytes.Cut(pair, []byte("="))
			if !unescapesTo(key, name) {
				continue
			}
			if text, err := url.QueryUnescape(string(value)); err == nil && !yield(text) {
				return
			}
		}
	}
}

// unescapesTo reports whether key is a way to write name.
func unescapesTo(key []byte, name string) bool {
	if !bytes.ContainsAny(key, "%+") {
		return string(key) == name
	}
	text, err := url.QueryUnescape(string(key))
	return err == nil && text == name
}
