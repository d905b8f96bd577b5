package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
)

// A cursor is, in base64: a version, the binding, and the position. The binding is a fingerprint of the listing and its filters.
const (
	cursorVersion = 2
	bindingLength = 8
)

var (
	errCursorMalformed = errors.New("the cursor is not one that this API gave out")
	errCursorForeign   = errors.New("the cursor belongs to another listing or to other filters")
)

// binding fingerprints a listing: its name and its filters.
type binding [bindingLength]byte

func bind(listing string, filter any) binding {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %#v", listing, filter)) // %#v quotes strings, so no two filters look alike
	return binding(sum[:bindingLength])
}

// encodeCursor returns the cursor that goes on at position in the listing that b stands for.
func encodeCursor(b binding, position []byte) string {
	raw := append([]byte{cursorVersion}, b[:]...)
	return base64.RawURLEncoding.EncodeToString(append(raw, position...))
}

// decodeCursor returns the position in cursor. An empty cursor has none: the listing starts at its beginning.
func decodeCursor(cursor string, b binding) ([]byte, error) {
	if cursor == "" {
		return nil, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || base64.RawURLEncoding.EncodeToString(raw) != cursor { // the decoder skips line breaks and stray bits
		return nil, errCursorMalformed
	}
	if len(raw) <= 1+bindingLength || raw[0] != cursorVersion {
		return nil, errCursorMalformed
	}
	if !bytes.Equal(raw[1:1+bindingLength], b[:]) {
		return nil, errCursorForeign
	}
	return raw[1+bindingLength:], nil
}

// encodePlace and decodePlace are the position in a listing by sequence; the zero place is its beginning.
func encodePlace(p projection.Place) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, p.Sequence), p.Record)
}

func decodePlace(position []byte) (projection.Place, error) {
	if position == nil {
		return projection.Place{}, nil
	}
	if len(position) != 16 {
		return projection.Place{}, errCursorMalformed
	}
	p := projection.Place{Sequence: binary.BigEndian.Uint64(position), Record: binary.BigEndian.Uint64(position[8:])}
	if p.Sequence == 0 {
		return projection.Place{}, errCursorMalformed
	}
	return p, nil
}

// encodeKey and decodeKey are the position in a listing of workloads; the zero key is its beginning.
func encodeKey(k projection.WorkloadKey) []byte {
	return encodeNames(k.Cluster, k.Workload.Kind, k.Workload.Namespace, k.Workload.Name)
}

func decodeKey(position []byte) (projection.WorkloadKey, error) {
	names, err := decodeNames(position, 4)
	if names == nil {
		return projection.WorkloadKey{}, err
	}
	ref := reloader.WorkloadRef{Kind: names[1], Namespace: names[2], Name: names[3]}
	return projection.WorkloadKey{Cluster: names[0], Workload: ref}, nil
}

func encodeNames(names ...string) []byte { return []byte(strings.Join(names, "\x00")) }

// decodeNames returns that many names, or none for the beginning of a listing.
func decodeNames(position []byte, count int) ([]string, error) {
	if position == nil {
		return nil, nil
	}
	names := strings.Split(string(position), "\x00")
	if len(names) != count {
		return nil, errCursorMalformed
	}
	return names, nil
}
