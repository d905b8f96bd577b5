package queue

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

const (
	// ackWait is how long a hint may stay unacknowledged before it is delivered again.
	ackWait = time.Minute
	// maxAckPending is how many hints may be unacknowledged; until some are acknowledged, no more are delivered.
	maxAckPending = 20_000
)

// Put stores hints. It returns nil only when all of them are stored; otherwise any part of them may be. A hint that can never be stored is
// dropped, logged and counted: after an error its sender would repeat it forever, with all that came with it. The error wraps ErrFull if there is
// no room, and ErrDisconnected if the connection is lost.
func (q *Queue) Put(ctx context.Context, hints []reloader.Hint) error {
	messages := make([]*nats.Msg, 0, len(hints))
	for _, h := range hints {
		m, err := hintMessage(h)
		if err != nil {
			q.metrics.dropped.Inc()
			q.log.Error("hint cannot be stored and is dropped", "config", h.Config.String(), "source", h.Source, "error", err)
			continue
		}
		messages = append(messages, m)
	}
	if len(messages) == 0 {
		return nil
	}
	begin := time.Now()
	err := q.publish(ctx, messages)
	q.metrics.published(HintsStream, begin, err)
	return wrap(err, "store in %s", HintsStream)
}

func hintMessage(h reloader.Hint) (*nats.Msg, error) {
	subject, err := ConfigSubject(hintPrefix, h.Cluster, h.Config)
	if err != nil {
		return nil, err
	}
	return MessageOf(subject, h)
}

// Delivery is a hint that is delivered again unless Ack is called within one minute. The methods may be called from any goroutine, also after the
// handler has returned.
type Delivery struct {
	hint reloader.Hint
	msg  jetstream.Msg
	log  *slog.Logger
}

// Hint returns what is delivered.
func (d Delivery) Hint() reloader.Hint { return d.hint }

// Ack removes the hint from the stream. An acknowledgement can get lost; then the hint comes again.
func (d Delivery) Ack() {
	if err := d.msg.Ack(); err != nil {
		d.log.Warn("could not acknowledge a hint; it will come again", "config", d.hint.Config.String(), "error", err)
	}
}

// ConsumeHints delivers every stored hint of cluster that is not acknowledged, and then each new one, to handle. It returns nil when ctx ends,
// and ErrClosed when the queue is closed; handle is not called any more by then. Of two processes that consume at the same time each gets a part. One
// goroutine calls handle, which should return soon.
func (q *Queue) ConsumeHints(ctx context.Context, cluster string, handle func(Delivery)) error {
	ctx, leave, err := q.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	defer q.setConsuming(nil)
	_ = Retry(ctx, q.log.With("cluster", cluster), "hints are not delivered; trying again", func() error {
		consumer, err := q.hintConsumer(ctx, cluster)
		if q.setConsuming(err); err == nil {
			err = q.consume(ctx, consumer, handle)
		}
		return err
	})
	return ended(ctx)
}

// Consuming returns why hints do not arrive at ConsumeHints; nil if they do, or if nothing consumes them.
func (q *Queue) Consuming() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.consuming
}

func (q *Queue) setConsuming(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.consuming = err
}

func consumerName(cluster string) string { return "dispatch-" + cluster }

// hintConsumer returns the durable consumer of a cluster's hints, created if it does not exist.
func (q *Queue) hintConsumer(ctx context.Context, cluster string) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	consumer, err := q.JS.CreateOrUpdateConsumer(ctx, HintsStream, jetstream.ConsumerConfig{
		Durable: consumerName(cluster), FilterSubject: hintPrefix + "." + cluster + ".>", Description: "hints on their way to the dispatcher",
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxAckPending: maxAckPending, MaxDeliver: -1,
	})
	return consumer, explain(err)
}

// consume delivers hints until ctx ends, or something is wrong. What has arrived by the end of ctx is given back, so that it comes again at once.
func (q *Queue) consume(ctx context.Context, from jetstream.Consumer, handle func(Delivery)) error {
	messages, err := from.Messages(jetstream.PullMaxMessages(readAhead), jetstream.PullExpiry(pullTime), jetstream.PullHeartbeat(heartbeat))
	if err != nil {
		return explain(err)
	}
	defer messages.Stop()
	end := context.AfterFunc(ctx, func() {
		if q.NATS.IsConnected() {
			messages.Drain()
			return
		}
		messages.Stop()
	})
	defer end()
	for {
		m, err := messages.Next()
		switch {
		case err != nil:
			return explain(err)
		case ctx.Err() != nil:
			_ = m.Nak() // it comes again in any case
		default:
			q.deliver(m, handle)
		}
	}
}

// deliver calls handle with a hint, or ends its delivery if it cannot be read.
func (q *Queue) deliver(m jetstream.Msg, handle func(Delivery)) {
	h, err := reloader.Decode[reloader.Hint](m.Data())
	if err == nil {
		err = inPlace(m.Subject())(ConfigSubject(hintPrefix, h.Cluster, h.Config))
	}
	if err == nil {
		handle(Delivery{hint: h, msg: m, log: q.log})
		return
	}
	q.noteUnreadable(HintsStream, m.Subject(), err)
	if err := m.TermWithReason("unreadable"); err != nil {
		q.log.Warn("could not end the delivery of an unreadable hint; it will come again", "subject", m.Subject(), "error", err)
	}
}

// inPlace returns a function that checks the subject on which a record belongs, by what it says, against the one on which it is. Users are bound to
// subjects, at a hub to those of one cluster; what a record says about itself proves nothing.
func inPlace(subject string) func(string, error) error {
	return func(want string, err error) error {
		if err == nil && want != subject {
			err = fmt.Errorf("the record belongs on %s", want)
		}
		return err
	}
}

// HintsPending returns how many hints of a cluster are stored and not acknowledged.
func (q *Queue) HintsPending(ctx context.Context, cluster string) (int64, error) {
	consumer, err := q.JS.Consumer(ctx, HintsStream, consumerName(cluster))
	if err != nil {
		return 0, wrap(explain(err), "look at the consumer of hints")
	}
	is := consumer.CachedInfo()
	return int64(is.NumPending) + int64(is.NumAckPending), nil
}
