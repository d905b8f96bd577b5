package audit

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// texts holds one copy of each text that many events of a body share.
type texts map[string]string

// exact returns b as a string, the remembered one if there is one.
func (t texts) exact(b []byte) string {
	if s, known := t[string(b)]; known {
		return s
	}
	return string(b)
}

func (t texts) remember(s string) { t[s] = s }

// clean is the function clean, with a memory for texts that need no cleaning.
func (t texts) clean(b []byte, limit int) string {
	if s, known := t[string(b)]; known && len(s) <= limit {
		return s
	}
	s := clean(b, limit)
	if len(s) == len(b) {
		t.remember(s)
	}
	return s
}

// clean returns the printable characters of b, as valid UTF-8 of at most limit bytes. What cannot be printed is left out: control
// characters, and those that change the direction or the look of what follows them.
func clean(b []byte, limit int) string {
	if isPlain(b) {
		return string(b[:min(len(b), limit)])
	}
	var out strings.Builder
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		b = b[size:]
		if !unicode.IsPrint(r) {
			continue
		}
		if out.Len()+utf8.RuneLen(r) > limit {
			break
		}
		out.WriteRune(r)
	}
	return out.String()
}

// isPlain reports whether b is printable ASCII.
func isPlain(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
