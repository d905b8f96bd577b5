package reloader

import "errors"

// StoredChange is a change with its place in the CHANGES stream.
type StoredChange struct {
	Change   Change
	Sequence uint64
}

// ErrOutrun means that something was not stored because somebody else stored something for the same config or workload first.
var ErrOutrun = errors.New("something newer is already stored")
