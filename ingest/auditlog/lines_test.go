package auditlog

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// cut returns the lines of content, and its offset behind each, as they come out of r. The last may lack its end.
func cut(t *testing.T, r io.Reader, limit int) (out []string, long int) {
	t.Helper()
	l := lines{limit: limit}
	for {
		if line, ok := l.next(); ok {
			out = append(out, string(line))
			continue
		}
		if n, err := l.fill(r); err != nil && n == 0 {
			break
		}
	}
	if rest := l.rest(); len(rest) > 0 {
		out = append(out, string(rest))
	}
	return out, l.long
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nbb\n\nccc"), 2)
	f.Add([]byte("\x00\x00\x00\x00\x00a\n\x00\n"), 3)
	f.Add([]byte("\n\n"), 0)
	f.Fuzz(func(t *testing.T, content []byte, limit int) {
		if limit < 0 {
			return // options refuse it
		}
		var want []string
		long := 0
		all := strings.Split(string(content), "\n")
		for i, line := range all {
			line = strings.TrimLeft(line, "\x00")
			last := i == len(all)-1
			switch {
			case len(line) > limit:
				long++
			case !last || line != "":
				want = append(want, line)
			}
		}
		for name, r := range map[string]io.Reader{"whole": bytes.NewReader(content), "byte by byte": iotest.OneByteReader(bytes.NewReader(content))} {
			got, skipped := cut(t, r, limit)
			if diff := cmp.Diff(want, got); diff != "" || skipped != long {
				t.Errorf("%s: %d long lines, want %d (-want +got):\n%s", name, skipped, long, diff)
			}
		}
	})
}

func TestOffsetIsBehindWhatWasTaken(t *testing.T) {
	content := "\x00\x00first\n" + strings.Repeat("x", 30) + "\nlast\nres"
	l := lines{limit: 10}
	r := iotest.OneByteReader(strings.NewReader(content))
	for _, want := range []string{"first", "last"} {
		for {
			line, ok := l.next()
			if ok {
				if string(line) != want || content[l.offset-1] != '\n' {
					t.Errorf("%q at %d, want %q", line, l.offset, want)
				}
				break
			}
			if _, err := l.fill(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if l.offset != int64(strings.Index(content, "res")) || l.long != 1 {
		t.Errorf("offset %d with %d long lines", l.offset, l.long)
	}
}
