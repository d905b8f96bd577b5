package queue

import (
	"context"
	"errors"
	"fmt"
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
	// ErrOtherCluster means that a cluster name belongs to a cluster with another UID. The error text has both and the way out.
	ErrOtherCluster = errors.New("cluster name is taken")
	// ErrUnsuitable means that the server is too old, or its settings do not fit. The error text has what to change.
	ErrUnsuitable = errors.New("NATS server is not suitable")
	// ErrDisconnected means that the connection was lost before the server answered; whether it stored is unknown.
	ErrDisconnected = errors.New("lost connection to NATS")
)

// Error codes of the server that mean that there is no room.
const (
	codeAccountResources = 10002
	codeNoResources      = 10023
	codeStoreFailed      = 10077
)

// Permanent reports whether opening the queue again cannot help until somebody changes something: a refused login, an unsuitable server, or
// whatever is wrong with an embedded one.
func Permanent(err error) bool {
	for _, permanent := range []error{nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, ErrUnsuitable, errEmbedded, errLogin} {
		if errors.Is(err, permanent) {
			return true
		}
	}
	return false
}

// explain names the cause of err if it is one of those above.
func explain(err error) error {
	for _, away := range []error{nats.ErrReconnectBufExceeded, nats.ErrDisconnected, nats.ErrConnectionReconnecting, nats.ErrConnectionClosed} {
		if errors.Is(err, away) {
			return fmt.Errorf("%w: %w", ErrDisconnected, err)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer from NATS: %w", err)
	}
	r := refusal(err)
	if r != nil && (r.ErrorCode == codeNoResources || r.ErrorCode == codeAccountResources || r.ErrorCode == codeStoreFailed && strings.Contains(r.Description, "maximum")) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// refusal returns the error with which JetStream refused; nil if err is something else.
func refusal(err error) *jetstream.APIError {
	var refused jetstream.JetStreamError
	if errors.As(err, &refused) {
		return refused.APIError()
	}
	return nil
}

// wrap adds what was attempted to err, and leaves nil alone.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
