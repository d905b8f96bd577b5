package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

const (
	// ackWait is how long a hint may be on loan.
	ackWait = time.Minute
	// maxOnLoan is how many hints may be on loan, those that wait for a retry included; beyond that nothing more is delivered.
	maxOnLoan = 20_000
	// Waits between attempts to get a lost consumer back.
	firstWait, longestWait = 50 * time.Millisecond, 5 * time.Second
)

// ConsumeHints delivers every stored hint of cluster that was not acknowledged yet, and then each new one, to handle. It returns
// nil when ctx ends, ErrClosed when the queue is closed, and another error only if it cannot begin; handle is not called any
// more by then. What is acknowledged is remembered on the server under the cluster's name, for whichever process consumes next; of two that
// consume at the same time each gets a part. handle is called by one goroutine and should return soon.
func (q *Queue) ConsumeHints(ctx context.Context, cluster string, handle func(Delivery)) error {
	c, err := newConsumer(q, cluster, handle)
	if err != nil {
		return fmt.Errorf("consume hints: %w", err)
	}
	ctx, leave, err := q.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	consumer, err := c.bind(ctx)
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if q.noteConsumer(err); err == nil {
		defer q.noteConsumer(nil) // what ends as it should lacks nothing
	}
	if err != nil {
		return fmt.Errorf("consume hints of %s: %w", cluster, err)
	}
	var roomKeeper sync.WaitGroup
	defer roomKeeper.Wait()
	roomKeeper.Go(func() { c.keepRoom(ctx) })
	roomKeeper.Go(func() { c.measure(ctx) })
	c.run(ctx, consumer)
	return ended(ctx)
}

// Consuming returns nil if the hints that somebody asks for by ConsumeHints arrive, or nobody asks for any, and otherwise why they do not.
func (q *Queue) Consuming() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.unconsumed
}

func (q *Queue) noteConsumer(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.unconsumed = err
}

func consumerName(cluster string) string { return "dispatch-" + cluster }

// consumer delivers the hints of one cluster to one handler.
type consumer struct {
	q       *Queue
	cluster string
	filter  string
	handle  func(Delivery)
}

func newConsumer(q *Queue, cluster string, handle func(Delivery)) (*consumer, error) {
	filter, err := clusterFilter(hintPrefix, cluster)
	if err != nil {
		return nil, err
	}
	return &consumer{q: q, cluster: cluster, filter: filter, handle: handle}, nil
}

// bind finds the consumer on the server, or makes it. A user who may not make it can still use one that is there.
func (c *consumer) bind(ctx context.Context) (jetstream.Consumer, error) {
	ctx, release := c.q.bounded(ctx, 2*answerTime, "$JS.API.CONSUMER.INFO.")
	defer release()
	want := consumerConfig(c.cluster, c.filter)
	found, err := c.q.js.Consumer(ctx, hintsStream, want.Durable)
	switch {
	case err == nil && consumerFits(found.CachedInfo().Config, want):
		return found, nil
	case err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound):
		return nil, explain(ctx, err)
	}
	missing := err != nil
	making, free := c.q.bounded(ctx, answerTime, "$JS.API.CONSUMER.CREATE."+hintsStream+".")
	defer free()
	made, err := c.q.js.CreateOrUpdateConsumer(making, hintsStream, want)
	err = explain(making, err)
	switch {
	case err == nil || !errors.Is(err, ErrDenied):
		return made, err
	case missing:
		return nil, fmt.Errorf(`%w: stream %s has no consumer %s: "reroll nats setup --cluster=%s" makes it: %w`, ErrNotSetUp, hintsStream, want.Durable, c.cluster, err)
	}
	return c.accept(found, want)
}

// accept returns a consumer that somebody else may have made, if it can be used.
func (c *consumer) accept(found jetstream.Consumer, want jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	is := found.CachedInfo().Config
	if is.FilterSubject != want.FilterSubject || is.AckPolicy != want.AckPolicy || is.DeliverSubject != "" {
		return nil, fmt.Errorf("consumer %s of stream %s is not one that delivers %s on request for acknowledgement", want.Durable, hintsStream, want.FilterSubject)
	}
	c.q.log.Warn("the consumer of hints is not as it should be; reroll nats setup mends it", "consumer", want.Durable)
	return found, nil
}

// consumerConfig is the consumer of a cluster's hints.
func consumerConfig(cluster, filter string) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: consumerName(cluster), FilterSubject: filter, Description: "hints on their way to the dispatcher",
		DeliverPolicy: jetstream.DeliverAllPolicy, AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: ackWait, MaxAckPending: maxOnLoan, MaxDeliver: -1,
	}
}

func consumerFits(is, want jetstream.ConsumerConfig) bool {
	return is.FilterSubject == want.FilterSubject && is.AckPolicy == want.AckPolicy && is.AckWait == want.AckWait &&
		is.MaxAckPending == want.MaxAckPending && is.MaxDeliver == want.MaxDeliver
}

// run consumes until ctx ends, and gets the consumer back whenever it is lost.
func (c *consumer) run(ctx context.Context, on jetstream.Consumer) {
	wait := firstWait
	for {
		began := time.Now()
		err := c.session(ctx, on)
		if ctx.Err() != nil {
			return
		}
		c.q.log.Warn("consumer of hints was interrupted; getting it back", "cluster", c.cluster, "error", err)
		if time.Since(began) > longestWait {
			wait = firstWait
		}
		if on, wait = c.rebind(ctx, wait); on == nil {
			return
		}
	}
}

// rebind gets the consumer back, waiting longer before each attempt. It returns nil when ctx ends, and how long to wait next time.
func (c *consumer) rebind(ctx context.Context, wait time.Duration) (jetstream.Consumer, time.Duration) {
	for pause(ctx, wait) {
		wait = min(2*wait, longestWait)
		on, err := c.bind(ctx)
		if ctx.Err() != nil {
			return nil, wait
		}
		if c.q.noteConsumer(err); err == nil {
			return on, wait
		}
		c.q.log.Warn("could not get the consumer of hints back", "cluster", c.cluster, "error", err)
	}
	return nil, wait
}

// session consumes until ctx ends, or the server says that the consumer is no more.
func (c *consumer) session(ctx context.Context, on jetstream.Consumer) error {
	lost := make(chan error, 1)
	cc, err := on.Consume(c.receive, jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
		if !isLost(err) {
			return
		}
		select {
		case lost <- err:
		default:
		}
	}))
	if err != nil {
		return err
	}
	closed := cc.Closed()
	select {
	case <-ctx.Done():
		c.finish(cc)
	case err = <-lost:
		cc.Stop()
	case <-closed:
	}
	<-closed
	return err
}

// finish lets the handler have what has arrived. Without a server that would only take time: nothing can be acknowledged.
func (c *consumer) finish(cc jetstream.ConsumeContext) {
	if c.q.nc.IsConnected() {
		cc.Drain()
		return
	}
	cc.Stop()
}

func isLost(err error) bool {
	for _, fatal := range []error{
		jetstream.ErrConsumerDeleted, jetstream.ErrConsumerNotFound, jetstream.ErrNoHeartbeat, jetstream.ErrBadRequest,
		jetstream.ErrConnectionClosed, nats.ErrNoResponders,
	} {
		if errors.Is(err, fatal) {
			return true
		}
	}
	return false
}

// receive hands a message to the handler, or ends its delivery if it cannot be read.
func (c *consumer) receive(msg jetstream.Msg) {
	meta, err := msg.Metadata()
	if err != nil {
		c.q.log.Error("hint without metadata", "error", err)
		return
	}
	h, err := c.read(msg)
	if err != nil {
		c.q.dismiss(msg, meta.Sequence.Stream, err)
		return
	}
	c.handle(Delivery{hint: h, sequence: meta.Sequence.Stream, msg: msg, log: c.q.log})
}

// read decodes msg and checks that it is about what its subject says: who may publish for one cluster must not speak for another.
func (c *consumer) read(msg jetstream.Msg) (reloader.Hint, error) {
	h, err := reloader.Decode[reloader.Hint](msg.Data())
	if err != nil {
		return h, err
	}
	if subject, err := configSubject(hintPrefix, h.Cluster, h.Config); err != nil || subject != msg.Subject() {
		return h, fmt.Errorf("hint about %s in %s came on the subject of another", h.Config, h.Cluster)
	}
	return h, nil
}

// pause waits, and reports whether it did so to the end.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
