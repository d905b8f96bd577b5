package queue

import (
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// connectTime bounds the first attempt to reach an external server, all its addresses together.
	connectTime = 4 * time.Second
	// answerTime is how long the server may take to answer any one call.
	answerTime = 5 * time.Second
	// drainTime bounds the flush of the connection when it is closed.
	drainTime     = 5 * time.Second
	reconnectWait = 500 * time.Millisecond
	// maxUnanswered bounds the single messages on their way; each of the three batchers may have one batch there.
	maxUnanswered = 4 * maxBatch
)

// connect reaches the server, and keeps the connection for ever once it was there.
func (q *Queue) connect(o Options) error {
	login, err := o.Login.options(q.log)
	if err != nil {
		return err
	}
	nc, err := nats.Connect(o.URL, append(q.connectOptions(o), login...)...)
	if err != nil {
		return fmt.Errorf("connect to NATS at %s: %w", shown(o), err)
	}
	q.nc = nc
	q.js, err = jetstream.New(nc, jetstream.WithDefaultTimeout(answerTime),
		jetstream.WithPublishAsyncTimeout(answerTime), jetstream.WithPublishAsyncMaxPending(maxUnanswered))
	if err != nil {
		nc.Close()
		return fmt.Errorf("use JetStream: %w", err)
	}
	return nil
}

func (q *Queue) connectOptions(o Options) []nats.Option {
	opts := []nats.Option{
		nats.Name(o.Name),
		nats.MaxReconnects(-1),
		// Credentials may be mended while the program runs.
		nats.IgnoreAuthErrorAbort(),
		nats.ReconnectWait(reconnectWait),
		// A message in a reconnect buffer is neither stored nor refused. Fail at once instead.
		nats.ReconnectBufSize(-1),
		nats.DrainTimeout(drainTime),
		nats.Timeout(dialTime(o)),
		nats.ErrorHandler(q.onError),
		nats.DisconnectErrHandler(q.onDisconnect),
		nats.ReconnectHandler(q.onReconnect),
		nats.ClosedHandler(func(*nats.Conn) { close(q.connClosed) }),
	}
	if o.InboxPrefix != "" {
		opts = append(opts, nats.CustomInboxPrefix(o.InboxPrefix))
	}
	if q.embedded != nil {
		opts = append(opts, nats.InProcessServer(q.embedded))
	}
	return opts
}

// dialTime is how long one address may take.
func dialTime(o Options) time.Duration {
	return connectTime / time.Duration(1+strings.Count(o.URL, ","))
}

func shown(o Options) string {
	if o.URL == "" {
		return "the embedded server"
	}
	return redacted(o.URL)
}

func (q *Queue) onError(_ *nats.Conn, sub *nats.Subscription, err error) {
	switch {
	case isDenied(err):
		q.log.Error("NATS denied a permission", "error", q.interrupts.denied(err))
	case sub != nil:
		q.log.Error("NATS reported an error", "error", err, "subject", sub.Subject)
	default:
		q.log.Error("NATS reported an error", "error", err)
	}
}

func (q *Queue) onDisconnect(_ *nats.Conn, err error) {
	q.interrupts.disconnected()
	if !q.closing() {
		q.log.Warn("lost connection to NATS; trying to get it back", "error", err)
	}
}

func (q *Queue) onReconnect(nc *nats.Conn) {
	q.log.Info("connected to NATS again", "server", nc.ConnectedUrlRedacted())
	go q.restore()
}
