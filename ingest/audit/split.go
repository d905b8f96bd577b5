package audit

import (
	"bytes"
	"errors"
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
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
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

// take reads what starts at a place and returns what follows it.
type take func(at []byte) (rest []byte, err error)

// splitArray takes each element of the array at the start of b, and returns what follows the array.
func splitArray(b []byte, element take) (rest []byte, err error) { return splitList(b, ']', element) }

// splitObject takes the value of each member of the object at the start of b, and returns what follows the object.
func splitObject(b []byte, member func(name, at []byte) (rest []byte, err error)) (rest []byte, err error) {
	return splitList(b, '}', func(b []byte) ([]byte, error) {
		name, rest := splitValue(b)
		rest = trimLeft(rest)
		if len(name) < 2 || name[0] != '"' || len(rest) == 0 || rest[0] != ':' {
			return nil, errSplit
		}
		if rest = trimLeft(rest[1:]); len(rest) == 0 {
			return nil, errSplit
		}
		if bytes.IndexByte(name, '\\') < 0 {
			return member(name[1:len(name)-1], rest)
		}
		text, err := unquote(nil, name)
		if err != nil {
			return nil, errSplit
		}
		return member(text, rest)
	})
}

// splitList takes one entry after the other.
func splitList(list []byte, closing byte, entry take) (rest []byte, err error) {
	rest = trimLeft(list[1:])
	for first := true; ; first = false {
		switch {
		case len(rest) > 0 && rest[0] == closing:
			return rest[1:], nil
		case len(rest) == 0, !first && rest[0] != ',':
			return nil, errSplit
		case !first:
			rest = trimLeft(rest[1:])
		}
		if len(rest) == 0 || bytes.IndexByte([]byte(",:]}"), rest[0]) >= 0 {
			return nil, errSplit
		}
		if rest, err = entry(rest); err != nil {
			return nil, err
		}
		rest = trimLeft(rest)
	}
}

// isLines reports whether each line of b stands for itself, as in a log, so that one that is cut costs itself alone: its first value ends on its line, or another object follows there, whatever was open
// before.
func isLines(b []byte) bool {
	line, rest, _ := bytes.Cut(trimLeft(b), []byte("\n"))
	if len(rest) == 0 || len(line) > 0 && line[0] == '{' && rest[0] == '{' {
		return true
	}
	_, closed := valueEnd(line)
	return closed
}
