package auditlog

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// headBytes is how much of a file's beginning tells it from others. Every event has a time and an ID of its own, so one line would do.
const headBytes = 1024

// maxPlaceFile bounds the file of a saved place, in bytes. The longest that is written has a name of 255 bytes in it, each escaped.
const maxPlaceFile = 4096

// placeVersion is the version of the saved form of a place.
const placeVersion = 1

// place is how far the log has been read.
type place struct {
	Version int `json:"v"`
	// Head is the SHA-256 of what the file begins with: its first headBytes, but no more than Offset.
	Head string `json:"head"`
	// Offset is where the first line begins that is not stored.
	Offset int64 `json:"offset"`
	// Done says up to where rotated files have been read to their end.
	Done order `json:"done"`
}

// order is where a rotated file stands among the others.
type order struct {
	// Since is when it was rotated or last written: the later, the newer.
	Since time.Time `json:"since"`
	Name  string    `json:"name,omitempty"`
}

// compare tells which of two files was rotated first.
func (o order) compare(p order) int {
	return cmp.Or(o.Since.Compare(p.Since), strings.Compare(o.Name, p.Name))
}

// headLength returns how many bytes p.Head is made of.
func (p place) headLength() int64 { return min(p.Offset, headBytes) }

// begins reports whether head is what the file of p begins with.
func (p place) begins(head []byte) bool { return hash(head) == p.Head }

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// load reads the saved place. Without one, or with one that cannot be understood, it returns nil and, in the latter case, why.
func load(path string) (*place, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	content, err := io.ReadAll(io.LimitReader(f, maxPlaceFile+1))
	if err != nil {
		return nil, err
	}
	p, err := parsePlace(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// parsePlace reads what save wrote.
func parsePlace(content []byte) (*place, error) {
	if len(content) > maxPlaceFile {
		return nil, fmt.Errorf("it is longer than %d bytes, and no saved place is", maxPlaceFile)
	}
	var p place
	switch err := json.NewDecoder(bytes.NewReader(content)).Decode(&p); {
	case err != nil:
		return nil, err
	case p.Version != placeVersion || p.Offset < 0:
		return nil, fmt.Errorf("version %d and offset %d are not understood", p.Version, p.Offset)
	}
	return &p, nil
}

// save replaces the saved place: whatever happens meanwhile, the old or the new one is there, whole.
func (p place) save(path string) error {
	content, err := json.Marshal(p)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
