package audit

import (
	"bytes"
	"errors"
	"iter"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON is split here by its strings, escapes and brackets alone. Whether a part is JSON shows when it is read, so that one that is not costs
// itself alone.

// errSplit means that brackets, commas or colons are not where they belong.
var errSplit = errors.New("its brackets or commas do not match")

// splitValue returns the value at the start of b, past white space, and what follows it. The value is empty at the end of b.
// A value that never ends is all of b, and JSON of no kind.
func splitValue(b []byte) (value, rest []byte) {
	b = trimLeft(b)
	end, _ := valueEnd(b)
	return b[:end], b[end:]
}

// valueEnd returns where the value at the start of b ends, and whether its brackets are closed there.
func valueEnd(b []byte) (end int, closed bool) {
	open := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i += textEnd(b[i+1:])
		case '{', '[':
			open++
			continue
		case '}', ']':
			open--
		default:
			if open > 0 || i+1 < len(b) && !delimits(b[i+1]) {
				continue // within an object or array, or a number or literal
			}
		}
		if open <= 0 {
			return min(i+1, len(b)), true
		}
	}
	return len(b), open == 0
}

// textEnd returns the length of a string behind its opening quote, with the closing one.
func textEnd(b []byte) int {
	for at := 0; ; {
		quote := bytes.IndexByte(b[at:], '"')
		if quote < 0 {
			return len(b)
		}
		at += quote
		escapes := 0
		for escapes < at && b[at-1-escapes] == '\\' {
			escapes++
		}
		at++
		if escapes%2 == 0 {
			return at
		}
	}
}

// delimits reports whether c ends a number or literal.
func delimits(c byte) bool { return isSpace(c) || bytes.IndexByte([]byte(`,:[]{}"`), c) >= 0 }

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func trimLeft(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	return b
}

// splitArray calls f with each element of array, which starts with its bracket.
func splitArray(array []byte, f func(element []byte) error) error {
	return splitList(array, ']', func(b []byte) ([]byte, error) {
		element, rest := splitValue(b)
		return rest, f(element)
	})
}

// splitObject calls f with each member of object, which starts with its brace.
func splitObject(object []byte, f func(name, value []byte) error) error {
	return splitList(object, '}', func(b []byte) ([]byte, error) {
		name, rest := splitValue(b)
		rest = trimLeft(rest)
		if len(name) < 2 || name[0] != '"' || len(rest) == 0 || rest[0] != ':' {
			return nil, errSplit
		}
		value, rest := splitValue(rest[1:])
		if len(value) == 0 {
			return nil, errSplit
		}
		if bytes.IndexByte(name, '\\') < 0 {
			return rest, f(name[1:len(name)-1], value)
		}
		text, err := unquote(name)
		if err != nil {
			return nil, errSplit
		}
		return rest, f(text, value)
	})
}

// splitList takes one entry after the other with take, which returns what follows it.
func splitList(list []byte, closing byte, take func([]byte) ([]byte, error)) error {
	rest := trimLeft(list[1:])
	for first := true; ; first = false {
		switch {
		case len(rest) == 1 && rest[0] == closing:
			return nil
		case len(rest) < 2, !first && rest[0] != ',':
			return errSplit
		case !first:
			rest = trimLeft(rest[1:])
		}
		if len(rest) == 0 || bytes.IndexByte([]byte(",:]}"), rest[0]) >= 0 {
			return errSplit
		}
		var err error
		if rest, err = take(rest); err != nil {
			return err
		}
		rest = trimLeft(rest)
	}
}

// parts yields the lines of b where they stand for themselves, as in a log, so that one that is cut costs itself alone, and otherwise all of b.
func parts(b []byte) iter.Seq[[]byte] {
	if isLines(b) {
		return bytes.Lines(b)
	}
	return slices.Values([][]byte{b})
}

// isLines reports whether each line of b stands for itself: its first value ends on its line, or another object follows there, whatever was open
// before.
func isLines(b []byte) bool {
	line, rest, _ := bytes.Cut(trimLeft(b), []byte("\n"))
	_, closed := valueEnd(line)
	return closed || len(rest) == 0 || line[0] == '{' && rest[0] == '{'
}

// unquote returns what a JSON string holds. Bad UTF-8 becomes U+FFFD.
func unquote(quoted []byte) ([]byte, error) {
	if text, err := jsontext.AppendUnquote(nil, quoted); err == nil {
		return text, nil
	}
	var text string
	err := read(quoted, &text)
	return []byte(text), err
}
