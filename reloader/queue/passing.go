package queue

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// errSilent means that the server was reached and has not answered in time.
var errSilent = errors.New("no answer from NATS")

// Error codes of a cluster of servers that has no leader yet, or not enough servers.
const (
	codeNoPeers      = 10005
	codeNotAvailable = 10008
	codeNotLeader    = 10009
	codeStreamAway   = 10118
)

// Passes reports whether err is what a server says, or does not say, that was reached and is not ready yet: one of a cluster that elects a
// leader, or that starts or goes away. Whoever starts meanwhile had better wait. An address at which nobody listens, a refused login, a
// denied permission and a server without JetStream do not pass.
func Passes(err error) bool {
	for _, lasting := range []error{ErrDenied, ErrNotSetUp, ErrFull, nats.ErrNoServers, jetstream.ErrJetStreamNotEnabled, jetstream.ErrJetStreamNotEnabledForAccount} {
		if errors.Is(err, lasting) {
			return false
		}
	}
	for _, passing := range []error{errSilent, ErrDisconnected, nats.ErrTimeout, nats.ErrNoResponders, jetstream.ErrNoStreamResponse, context.DeadlineExceeded} {
		if errors.Is(err, passing) {
			return true
		}
	}
	var js jetstream.JetStreamError
	if !errors.As(err, &js) || js.APIError() == nil {
		return false
	}
	code := int(js.APIError().ErrorCode)
	return js.APIError().Code >= http.StatusInternalServerError || slices.Contains([]int{codeNoPeers, codeNotAvailable, codeNotLeader, codeStreamAway}, code)
}
