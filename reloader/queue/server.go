package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// oldestServer is the oldest version of a NATS server that is supported: from this one on, a server can be told to store before it
// acknowledges, and keeps the metadata of streams.
const oldestServer = "2.10"

// examine finds out what the server can do, and whether that is enough. Of what it can more, the rest makes use: atomic batches and
// messages that expire.
func (q *Queue) examine(ctx context.Context, o Options) error {
	version := q.nc.ConnectedServerVersion()
	if older(version, oldestServer) {
		return fmt.Errorf("%w: %s is version %s, and %s or later is needed", ErrOldServer, q.nc.ConnectedUrlRedacted(), version, oldestServer)
	}
	account, err := q.js.AccountInfo(ctx)
	if errors.Is(err, jetstream.ErrJetStreamNotEnabled) && q.role == RoleForward {
		return fmt.Errorf("%w: nobody at the hub answers the account of this cluster; a server that runs listens to a new account only after its "+
			"configuration was reloaded twice", ErrNotSetUp)
	}
	if err != nil {
		return fmt.Errorf("ask NATS for JetStream: %w", explain(ctx, err))
	}
	q.level = min(account.API.Level, o.maxAPILevel)
	if q.embedded == nil {
		q.log.Info("using NATS", "server", q.nc.ConnectedUrlRedacted(), "version", version, "api_level", q.level,
			"atomic_batches", q.level >= levelAtomicBatch, "message_ttl", q.level >= levelMessageTTL)
	}
	return nil
}

// older reports whether version is before than. What is no version is not.
func older(version, than string) bool {
	a, okA := majorMinor(version)
	b, okB := majorMinor(than)
	return okA && okB && (a[0] < b[0] || a[0] == b[0] && a[1] < b[1])
}

func majorMinor(version string) (parts [2]int, ok bool) {
	words := strings.SplitN(version, ".", 3)
	if len(words) < 2 {
		return parts, false
	}
	for i := range parts {
		n, err := strconv.Atoi(words[i])
		if err != nil {
			return parts, false
		}
		parts[i] = n
	}
	return parts, true
}
