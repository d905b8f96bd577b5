package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

var (
	// ErrClosed means that the queue was closed.
	ErrClosed = errors.New("queue is closed")
	// ErrFull means that the server refused to store because a stream or the store is at its limit.
	ErrFull = errors.New("store is full")
	// ErrLocked means that another process uses the same store folder.
	ErrLocked = errors.New("store folder is in use")
	// ErrDenied means that the server does not permit what was asked. The error text has the subject.
	ErrDenied = errors.New("permission denied by NATS")
	// ErrOtherCluster means that a cluster name belongs to a cluster with another UID. The error text has both and the way out.
	ErrOtherCluster = errors.New("cluster name is taken")
	// ErrNotSetUp means that a stream or consumer is not there although somebody else was to make it.
	ErrNotSetUp = errors.New("NATS is not set up")
	// ErrOldServer means that the server is older than Reroll supports.
	ErrOldServer = errors.New("NATS server is too old")
	// ErrDisconnected means that the server went away before it answered; whether it stored is unknown.
	ErrDisconnected = errors.New("lost connection to NATS")
)

// Error codes of the server that mean that there is no room.
const (
	codeAccountResources = 10002
	codeNoResources      = 10023
	codeStoreFailed      = 10077
	codeWrongSequenceR3  = jetstream.JSErrCodeStreamWrongLastSequenceConstant
	codeWrongSequence    = jetstream.JSErrCodeStreamWrongLastSequence
	// codeNothingExpires is that of a stream that takes no message which is to expire.
	codeNothingExpires = 10166
)

// explain names the cause of err if it is one of those above. ctx is the context that the failed call had.
func explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) && ctx.Err() != nil {
		return cause
	}
	for _, away := range []error{nats.ErrReconnectBufExceeded, nats.ErrDisconnected, nats.ErrConnectionReconnecting, nats.ErrConnectionClosed} {
		if errors.Is(err, away) {
			return fmt.Errorf("%w: %w", ErrDisconnected, err)
		}
	}
	var api jetstream.JetStreamError
	if !errors.As(err, &api) || api.APIError() == nil {
		return err
	}
	e := api.APIError()
	full := e.ErrorCode == codeStoreFailed && strings.Contains(e.Description, "maximum")
	if full || e.ErrorCode == codeNoResources || e.ErrorCode == codeAccountResources {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// isConflict reports whether the server refused because the last message of the subject was not the expected one.
func isConflict(err error) bool { return hasCode(err, codeWrongSequence, codeWrongSequenceR3) }

// hasCode reports whether the server answered with one of the codes.
func hasCode(err error, codes ...jetstream.ErrorCode) bool {
	var api jetstream.JetStreamError
	return errors.As(err, &api) && api.APIError() != nil && slices.Contains(codes, api.APIError().ErrorCode)
}

// lastOnRefusal returns the sequence of the last message of the subject that the server named when it refused because of that. It is the word of
// who stores, and not of a server that may lag; one that has others to store first names none.
func lastOnRefusal(err error) (sequence uint64, named bool) {
	var api jetstream.JetStreamError
	if !hasCode(err, codeWrongSequence) || !errors.As(err, &api) {
		return 0, false
	}
	_, number, _ := strings.Cut(api.APIError().Description, ": ")
	sequence, err = strconv.ParseUint(number, 10, 64)
	return sequence, err == nil
}
