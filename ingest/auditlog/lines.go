package auditlog

import (
	"bytes"
	"io"
)

// chunk is how much is read at a time.
const chunk = 256 << 10

// lines cuts what is read into lines.
type lines struct {
	limit int
	// offset is where in the file buf begins. Unless a line is being skipped, a line begins there.
	offset int64
	buf    []byte
	// searched is how much of buf is known to hold no newline.
	searched int
	skipping bool
	// long counts the lines that were too long.
	long int
}

// next returns the next line without its newline, if it is complete. It is valid until the next call of fill.
func (l *lines) next() ([]byte, bool) {
	for {
		l.trim()
		at := bytes.IndexByte(l.buf[l.searched:], '\n')
		if at < 0 {
			l.searched = len(l.buf)
			l.shorten()
			return nil, false
		}
		line := l.take(l.searched + at + 1)
		if l.skipping {
			l.skipping = false
			continue
		}
		if len(line)-1 > l.limit {
			l.long++
			continue
		}
		return line[:len(line)-1], true
	}
}

// rest returns what is behind the last newline of a file to which nothing will be added.
func (l *lines) rest() []byte {
	line := l.take(len(l.buf))
	if l.skipping {
		return nil
	}
	return line
}

func (l *lines) take(n int) []byte {
	line := l.buf[:n]
	l.buf, l.searched, l.offset = l.buf[n:], 0, l.offset+int64(n)
	return line
}

// trim passes over NUL bytes before a line: a writer that does not notice that its file was truncated leaves a hole before it.
func (l *lines) trim() {
	n := 0
	for n < len(l.buf) && l.buf[n] == 0 && !l.skipping {
		n++
	}
	if n > 0 {
		l.take(n)
	}
}

// shorten gives up a line that is too long already.
func (l *lines) shorten() {
	if !l.skipping && len(l.buf) <= l.limit {
		return
	}
	if !l.skipping {
		l.skipping = true
		l.long++
	}
	l.take(len(l.buf))
}

// fill reads once from r behind what is there, and returns how much. The caller may take that back with drop.
func (l *lines) fill(r io.Reader) (int, error) {
	have := len(l.buf)
	if cap(l.buf)-have < chunk {
		// What was handed out lies before buf; a new array leaves it alone and lets it go.
		l.buf = append(make([]byte, 0, 2*have+chunk), l.buf...)
	}
	n, err := r.Read(l.buf[have : have+chunk])
	l.buf = l.buf[:have+n]
	return n, err
}

// drop forgets the last n bytes that were filled in.
func (l *lines) drop(n int) { l.buf = l.buf[:len(l.buf)-n] }
