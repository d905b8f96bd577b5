package reloader

import "errors"

// StoredChange is a change with its place in the CHANGES stream.
type StoredChange struct {
	Change   Change
	Sequence uint64
}

// ErrOutrun means that a change was not appended because somebody else appended one for the same config first.
var ErrOutrun = errors.New("a newer change is already stored")
