package audit

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is how deep the JSON library nests, the list and its items included. The API server takes and reports objects that are as
// deep in themselves, so an event may be deeper by the few levels around them.
const maxDepth = 10_000

// skip passes over the value that comes next, however deep it is. Of what is deeper than maxDepth only the nesting is looked at: whatever
// does not fit to it shows in what follows.
func (s *scanner) skip() error {
	depth := s.dec.StackDepth()
	err := s.dec.SkipValue()
	if err == nil || !s.stoppedByDepth() {
		return err
	}
	opening := s.opening(depth)
	rest, err := s.leave(depth)
	if err != nil {
		return err
	}
	return s.resume(opening, rest)
}

// stoppedByDepth reports whether the decoder could go on if it could nest deeper.
func (s *scanner) stoppedByDepth() bool {
	if s.dec.StackDepth() != maxDepth {
		return false
	}
	next := s.dec.PeekKind()
	return next == jsontext.KindBeginObject || next == jsontext.KindBeginArray
}

// leave reads past the decoder to the end of the value that began at depth, and returns what was read behind that.
func (s *scanner) leave(depth int) (rest []byte, err error) {
	n := nesting{open: s.dec.StackDepth() - depth}
	at := s.offset()
	part := bytes.Clone(s.dec.UnreadBuffer())
	room := make([]byte, 4<<10)
	for {
		if end, closed := n.close(part); closed {
			s.base = at + int64(end)
			return part[end:], nil
		}
		at += int64(len(part))
		read, err := s.src.Read(room)
		part = room[:read]
		switch {
		case read > 0:
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
	}
}

// opening returns JSON after which a decoder is depth levels deep, in the same objects and arrays as now, behind a value.
func (s *scanner) opening(depth int) []byte {
	var b []byte
	for level := 1; level <= depth; level++ {
		if kind, _ := s.dec.StackIndex(level); kind == jsontext.KindBeginObject {
			b = append(b, `{"":`...)
		} else {
			b = append(b, '[')
		}
	}
	return append(b, `""`...)
}

// resume makes the decoder go on with rest and what follows it, as if it had read opening so far.
func (s *scanner) resume(opening, rest []byte) error {
	s.base -= int64(len(opening))
	s.dec.Reset(io.MultiReader(bytes.NewReader(opening), bytes.NewReader(rest), s.src), tolerant...)
	for s.dec.InputOffset() < int64(len(opening)) {
		if _, err := s.dec.ReadToken(); err != nil {
			return err
		}
	}
	return nil
}

// nesting counts the objects and arrays that are open.
type nesting struct {
	open            int
	inText, escaped bool
}

// close returns where in p the last open object or array is closed, if it is.
func (n *nesting) close(p []byte) (end int, closed bool) {
	for i, c := range p {
		switch {
		case n.escaped:
			n.escaped = false
		case n.inText:
			n.escaped, n.inText = c == '\\', c != '"'
		case c == '"':
			n.inText = true
		case c == '{', c == '[':
			n.open++
		case c == '}', c == ']':
			n.open--
			if n.open == 0 {
				return i + 1, true
			}
		}
	}
	return 0, false
}

// pass counts all of p, wherever it is closed.
func (n *nesting) pass(p []byte) {
	for len(p) > 0 {
		end, closed := n.close(p)
		if !closed {
			return
		}
		p = p[end:]
	}
}
