package auditlog

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// errOther means that a file is not the one that was looked for.
var errOther = errors.New("another file")

// file is an open log file.
type file struct {
	f *os.File
	// plain is what the file holds when it is not compressed.
	plain      io.Reader
	compressed bool
	// at is how much was read, and head its beginning.
	at   int64
	head []byte
	// rotated is what the file was found as, if not as the one that is being written.
	rotated *sibling
}

// errNoFile means that what is there is a folder, a pipe or a device.
var errNoFile = errors.New("it is no regular file")

// open opens a file at its beginning.
func open(path string, as *sibling) (*file, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	opened := &file{f: f, plain: f, rotated: as}
	if !strings.HasSuffix(path, gzipSuffix) {
		return opened, nil
	}
	opened.compressed = true
	if opened.plain, err = gzip.NewReader(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return opened, nil
}

// openRegular opens a file. It does not wait for somebody to write, as is usual with pipes.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: errNoFile}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openAt opens a file at p. It fails with errOther if the file is not that of p.
func openAt(path string, as *sibling, p place) (*file, error) {
	f, err := open(path, as)
	if err != nil {
		return nil, err
	}
	if err := f.seek(p); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

func (f *file) close() error { return f.f.Close() }

// seek goes from the beginning to p, where something was read before.
func (f *file) seek(p place) error {
	head := make([]byte, p.headLength())
	_, err := io.ReadFull(f, head)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errOther
	case err != nil:
		return err
	case !p.begins(head):
		return errOther
	}
	if f.compressed {
		_, err = io.CopyN(io.Discard, f, p.Offset-f.at)
		if errors.Is(err, io.EOF) {
			return errOther
		}
		return err
	}
	info, err := f.f.Stat()
	if err != nil {
		return err
	}
	if info.Size() < p.Offset {
		return errOther
	}
	f.at, err = f.f.Seek(p.Offset, io.SeekStart)
	return err
}

// Read reads on.
func (f *file) Read(p []byte) (int, error) {
	n, err := f.plain.Read(p)
	if room := headBytes - len(f.head); room > 0 {
		f.head = append(f.head, p[:min(n, room)]...)
	}
	f.at += int64(n)
	return n, err
}

// intact reports whether the file is still the one that was read: it was neither cut nor written anew. After a read, it tells
// whether what was read belongs to what was read before.
func (f *file) intact() (bool, error) {
	if f.compressed {
		return true, nil // nobody writes such a file twice
	}
	info, err := f.f.Stat()
	if err != nil || info.Size() < f.at {
		return false, err
	}
	head := make([]byte, len(f.head))
	if n, err := f.f.ReadAt(head, 0); n < len(head) {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return false, err
	}
	return bytes.Equal(head, f.head), nil
}

// place returns the place in f whose offset is given; everything before it was read, and the files before f up to done.
func (f *file) place(offset int64, done order) place {
	p := place{Version: placeVersion, Offset: offset, Done: done}
	p.Head = hash(f.head[:p.headLength()])
	return p
}

// same reports whether info is about f.
func (f *file) same(info os.FileInfo) bool {
	own, err := f.f.Stat()
	return err == nil && os.SameFile(own, info)
}

// isBroken reports whether err says that what should be compressed is not.
func isBroken(err error) bool {
	return errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, io.EOF) || errors.As(err, new(flate.CorruptInputError))
}
