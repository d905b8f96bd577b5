package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// scanner reads JSON token by token.
type scanner struct {
	dec  *jsontext.Decoder
	src  *source
	name []byte
	// base is where in the body the decoder began to count.
	base int64
}

// tolerant lets pass what anyone who may patch an object can bring into an event.
var tolerant = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

func newScanner(r io.Reader, opts Options) *scanner {
	stretch := opts.Limits.MaxEventBytes
	src := &source{r: r, stretch: stretch, end: stretch, claim: opts.claim}
	return &scanner{dec: jsontext.NewDecoder(src, tolerant...), src: src}
}

// reset makes s read another body.
func (s *scanner) reset(r io.Reader) {
	*s.src = source{r: r, stretch: s.src.stretch, end: s.src.stretch, claim: s.src.claim, claimed: s.src.claimed}
	s.base = 0
	s.dec.Reset(s.src, tolerant...)
}

// offset returns how much of the body is read, up to the end of the last token.
func (s *scanner) offset() int64 { return s.base + s.dec.InputOffset() }

// begin starts a new stretch of input: from here on, source.stretch bytes may be read.
func (s *scanner) begin() { s.src.end = s.offset() + s.src.stretch }

// member returns the name of the next member of the object that is being read, whose opening brace was read before; the caller
// consumes its value. At the end of the object it consumes the closing brace and reports false. The name is valid until the next call.
func (s *scanner) member() (name []byte, ok bool, err error) {
	if s.dec.PeekKind() == jsontext.KindEndObject {
		_, err := s.dec.ReadToken()
		return nil, false, err
	}
	s.name, err = s.appendText(s.name[:0])
	return s.name, err == nil, err
}

// appendText appends the string that comes next. Where it has to be unescaped, invalid UTF-8 becomes U+FFFD.
func (s *scanner) appendText(dst []byte) ([]byte, error) {
	raw, err := s.dec.ReadValue()
	if err != nil {
		return dst, err
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return append(dst, raw[1:len(raw)-1]...), nil
	}
	// The decoder has checked the syntax: what can still be wrong is UTF-8, which is replaced.
	dst, _ = jsontext.AppendUnquote(dst, raw)
	return dst, nil
}

// explain gives an error of the JSON library its class. It says where the body is wrong and never quotes it.
func (s *scanner) explain(err error) error {
	switch {
	case s.src.err != nil:
		return fmt.Errorf("read audit events: %w", s.src.err)
	case errors.Is(err, errStretch):
		return fmt.Errorf("%w: the event at byte %d is longer than %d bytes; set the audit level of its resource to Metadata",
			ErrTooLarge, s.src.end-s.src.stretch, s.src.stretch)
	case errors.Is(err, ErrMalformed), endsAll(err):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: the JSON ends after %d bytes, before it is complete", ErrMalformed, s.src.read)
	}
	offset := s.offset()
	if syntax := (*jsontext.SyntacticError)(nil); errors.As(err, &syntax) {
		offset = s.base + syntax.ByteOffset
	}
	return fmt.Errorf("%w: no valid JSON at byte %d", ErrMalformed, offset)
}

var errStretch = errors.New("stretch of input too long")

// source hands out r up to end, remembers how far it is, and tells errors of r from those of the JSON in it.
type source struct {
	r            io.Reader
	read         int64
	end, stretch int64
	err          error
	// claim asks for memory, and claimed is the longest part of a stretch for which there is some.
	claim   func(bytes int64) error
	claimed int64
}

const (
	// copies is how often what is read of a stretch may be in memory: in the buffer of the decoder, which grows by doubling, as a text of
	// its own, and decoded.
	copies = 4
	// claimStep is by how much more than is needed is claimed.
	claimStep = 32 << 10
)

// hold claims memory for what was read of the current stretch and n more bytes.
func (s *source) hold(n int64) error {
	length := s.read - (s.end - s.stretch) + n
	if length <= s.claimed {
		return nil
	}
	length += claimStep
	if err := s.claim(copies * (length - s.claimed)); err != nil {
		return err
	}
	s.claimed = length
	return nil
}

// Read reads from the underlying reader; it fails if that would go beyond the current stretch.
func (s *source) Read(p []byte) (int, error) {
	left := s.end - s.read
	if left <= 0 {
		return 0, errStretch
	}
	p = p[:min(int64(len(p)), left)]
	if err := s.hold(int64(len(p))); err != nil {
		return 0, err
	}
	n, err := s.r.Read(p)
	s.read += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}
