package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

const (
	// connectTime bounds the first attempt to reach an external server, all its addresses together.
	connectTime = 4 * time.Second
	// answerTime is how long the server may take to answer one call. A call that it denies gets no answer at all.
	answerTime = 5 * time.Second
	// drainTime bounds the flush of the connection when it is closed.
	drainTime     = 5 * time.Second
	reconnectWait = 500 * time.Millisecond
	// maxUnanswered bounds the single messages on their way.
	maxUnanswered = 4096
	// minPayload is the smallest max_payload of a server that takes every record with its headers.
	minPayload = reloader.MaxWireBytes + 8<<10
	// oldestLevel is the JetStream API level of NATS 2.14.
	oldestLevel = 4
)

// Conn is a connection to a NATS server. It lasts until Close: when the server goes away, calls fail at once, and the connection comes back by
// itself.
type Conn struct {
	NATS *nats.Conn
	JS   jetstream.JetStream

	options  Options
	log      *slog.Logger
	embedded *embedded
	closed   chan struct{}
	// onReconnect is called each time the connection is back; nil for none.
	onReconnect func()
}

// Dial connects to an external server. It does not look at its streams.
func Dial(o Options) (*Conn, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errLogin, err)
	}
	c := newConn(o)
	return c, c.connect()
}

func newConn(o Options) *Conn {
	return &Conn{options: o, log: o.Logger, closed: make(chan struct{})}
}

func (c *Conn) connect() (err error) {
	if c.NATS, err = nats.Connect(c.options.URL, append(c.connectOptions(), c.options.Login.option(c.log))...); err != nil {
		return fmt.Errorf("connect to NATS at %s: %w", c.shown(), err)
	}
	if takes := c.NATS.MaxPayload(); takes < minPayload {
		c.NATS.Close()
		return fmt.Errorf("%w: it takes messages of at most %d bytes, and records need %d; set max_payload to 1MB, its default", ErrUnsuitable, takes, minPayload)
	}
	c.JS, err = jetstream.New(c.NATS, jetstream.WithDefaultTimeout(answerTime),
		jetstream.WithPublishAsyncTimeout(answerTime), jetstream.WithPublishAsyncMaxPending(maxUnanswered))
	return err
}

func (c *Conn) connectOptions() []nats.Option {
	o := c.options
	opts := []nats.Option{
		nats.Name(o.Name),
		nats.MaxReconnects(-1),
		// Credentials may be corrected while the program runs.
		nats.IgnoreAuthErrorAbort(),
		nats.ReconnectWait(reconnectWait),
		// A message in a reconnect buffer is neither stored nor refused. Fail at once instead.
		nats.ReconnectBufSize(-1),
		nats.DrainTimeout(drainTime),
		nats.Timeout(connectTime / time.Duration(1+strings.Count(o.URL, ","))),
		nats.ErrorHandler(c.report),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				c.log.Warn("lost connection to NATS; reconnecting", "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			c.log.Info("connected to NATS again", "server", nc.ConnectedUrlRedacted())
			if c.onReconnect != nil {
				c.onReconnect()
			}
		}),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }),
	}
	if c.embedded != nil {
		opts = append(opts, nats.InProcessServer(c.embedded.server))
	}
	return opts
}

// report logs what the server reports next to its answers. The text of a denied permission has its subject.
func (c *Conn) report(_ *nats.Conn, sub *nats.Subscription, err error) {
	subject := ""
	if sub != nil {
		subject = sub.Subject
	}
	c.log.Error("NATS reported an error", "error", err, "subject", subject)
}

func (c *Conn) shown() string {
	if c.options.URL == "" {
		return "the embedded server"
	}
	return Redacted(c.options.URL)
}

// prepare checks that the server is new enough, and creates the streams.
func (c *Conn) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*answerTime)
	defer cancel()
	account, err := c.JS.AccountInfo(ctx)
	if err != nil {
		return fmt.Errorf("ask NATS for JetStream: %w", explain(err))
	}
	if account.API.Level < oldestLevel {
		return fmt.Errorf("%w: %s is version %s, and 2.14 or later is needed", ErrUnsuitable, c.shown(), c.NATS.ConnectedServerVersion())
	}
	return c.ensureStreams(ctx)
}

// Setup creates the streams of o at an external server, or brings them up to date, and returns the connection.
func Setup(ctx context.Context, o Options) (*Conn, error) {
	c, err := Dial(o)
	if err != nil {
		return nil, err
	}
	if err := c.prepare(ctx); err != nil {
		return nil, errors.Join(err, c.Close(ctx))
	}
	return c, nil
}

// Close flushes acknowledgements and closes the connection.
func (c *Conn) Close(ctx context.Context) error {
	if c.NATS == nil {
		return nil
	}
	if err := c.NATS.Drain(); err != nil {
		c.NATS.Close() // without a server there is nothing to flush to
	}
	defer c.NATS.Close() // if ctx ends first
	return await(ctx, c.closed, "close connection to NATS")
}
