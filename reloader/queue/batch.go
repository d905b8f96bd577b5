package queue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// maxBatch is how many messages the server takes in one atomic batch.
	maxBatch = 1000
	// maxBatchBytes bounds the memory of a batch, here and in the server.
	maxBatchBytes = 8 << 20
	// atomicFrom is the number of messages from which an atomic batch is faster than as many single messages: a batch costs about
	// 4 ms however small it is, a single message one fsync.
	atomicFrom = 15
)

// message is what a batcher stores. Of messages with equal identities in one batch only the first is stored; nil equals nothing.
type message struct {
	*nats.Msg
	identity any
}

// request is the messages of one caller, who waits for one answer on done.
type request struct {
	ctx      context.Context
	messages []message
	done     chan error
	// last is the sequence at which the last message was stored, from when done says that all are.
	last uint64
}

func (r *request) size() (count, bytes int) {
	for _, m := range r.messages {
		bytes += m.Size()
	}
	return len(r.messages), bytes
}

// batcher stores the messages of all callers for one stream. While it commits a batch, callers queue up; they make the next one.
// So a lone caller never waits for company, and a crowd shares each fsync.
type batcher struct {
	stream, prefix string
	// linger is how long the members of a crowd wait for more; zero where callers are in a hurry.
	linger time.Duration
	// crowd says that the last batch was of several callers.
	crowd      bool
	atomic     bool
	js         jetstream.JetStream
	interrupts *interrupts
	metrics    *metrics
	requests   chan *request
	// held is the request that did not fit into the last batch.
	held *request
	quit chan struct{}
	done chan struct{}
}

func newBatcher(q *Queue, stream, prefix string, atomic bool) *batcher {
	return &batcher{
		stream: stream, prefix: prefix, atomic: atomic, js: q.js, interrupts: &q.interrupts, metrics: q.metrics,
		requests: make(chan *request), quit: make(chan struct{}), done: make(chan struct{}),
	}
}

// put stores messages and returns nil when all of them are stored. More than a batch of them are stored in several batches.
func (b *batcher) put(ctx context.Context, messages []message) error {
	for part := range slices.Chunk(messages, maxBatch) {
		if _, err := b.putPart(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// putPart stores messages in one batch, and returns the sequence of the last one.
func (b *batcher) putPart(ctx context.Context, part []message) (uint64, error) {
	r := &request{ctx: ctx, messages: part, done: make(chan error, 1)}
	select {
	case b.requests <- r:
	case <-ctx.Done():
		return 0, fmt.Errorf("store in %s: %w", b.stream, ctx.Err())
	case <-b.quit:
		return 0, fmt.Errorf("store in %s: %w", b.stream, ErrClosed)
	}
	select {
	case err := <-r.done:
		return r.last, wrap(err, "store in %s", b.stream)
	case <-ctx.Done():
		return 0, fmt.Errorf("store in %s: %w", b.stream, ctx.Err())
	}
}

// close refuses new requests and waits until those taken are answered, or ctx ends.
func (b *batcher) close(ctx context.Context) error {
	close(b.quit)
	select {
	case <-b.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("store what was accepted for %s: %w", b.stream, ctx.Err())
	}
}

// run commits batch after batch until close.
func (b *batcher) run() {
	defer close(b.done)
	for {
		first := b.held
		b.held = nil
		if first == nil {
			select {
			case first = <-b.requests:
			case <-b.quit:
				return
			}
		}
		batch := b.gather(first)
		b.crowd = len(batch) > 1
		b.commit(batch)
	}
}

// gather returns first and every request that waits already, in a crowd also those that come soon, as far as they fit into one batch.
func (b *batcher) gather(first *request) []*request {
	batch := []*request{first}
	count, bytes := first.size()
	timer := time.NewTimer(b.linger)
	defer timer.Stop()
	for {
		r := b.next(timer)
		if r == nil {
			return batch
		}
		n, size := r.size()
		if count+n > maxBatch || bytes+size > maxBatchBytes {
			b.held = r
			return batch
		}
		batch, count, bytes = append(batch, r), count+n, bytes+size
	}
}

// next returns a request that waits, in a crowd also one that comes before the timer fires, or nil.
func (b *batcher) next(timer *time.Timer) *request {
	select {
	case r := <-b.requests:
		return r
	default:
	}
	if !b.crowd || b.linger == 0 {
		return nil
	}
	select {
	case r := <-b.requests:
		return r
	case <-timer.C:
		return nil
	case <-b.quit:
		return nil
	}
}

// commit stores a batch and answers its requests. It has a time limit of its own: one caller's context must not fail the others.
func (b *batcher) commit(batch []*request) {
	messages, of := merge(batch)
	if len(messages) == 0 {
		answer(batch, of, nil, nil)
		return
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), answerTime, errNoAnswer)
	defer cancel()
	ctx, release := b.interrupts.guard(ctx, b.prefix)
	defer release()

	start := time.Now()
	sequences, errs := b.publish(ctx, messages)
	b.metrics.duration.WithLabelValues(b.stream).Observe(time.Since(start).Seconds())
	b.metrics.messages.WithLabelValues(b.stream).Observe(float64(len(messages)))
	if errs != nil {
		b.metrics.failures.WithLabelValues(b.stream).Inc()
	}
	b.metrics.repeated.WithLabelValues(b.stream).Add(float64(placed(of) - len(messages)))
	answer(batch, of, sequences, errs)
}

// placed returns how many messages of requests have a place among those to store.
func placed(of [][]int) (n int) {
	for _, places := range of {
		n += len(places)
	}
	return n
}

// merge returns the messages to store, and for each request the places of its messages among them. A request whose caller has
// gone has none.
func merge(batch []*request) (messages []*nats.Msg, of [][]int) {
	of = make([][]int, len(batch))
	seen := map[any]int{}
	for i, r := range batch {
		if r.ctx.Err() != nil {
			continue
		}
		for _, m := range r.messages {
			at, repeated := seen[m.identity]
			if m.identity == nil || !repeated {
				at = len(messages)
				messages = append(messages, m.Msg)
			}
			if m.identity != nil {
				seen[m.identity] = at
			}
			of[i] = append(of[i], at)
		}
	}
	return messages, of
}

// answer tells each request the first error among its own messages, or the sequence of its last one. errs is nil if all are stored.
func answer(batch []*request, of [][]int, sequences []uint64, errs []error) {
	for i, r := range batch {
		err := r.ctx.Err()
		if len(of[i]) > 0 {
			err = nil
		}
		for _, at := range of[i] {
			if errs != nil && errs[at] != nil {
				err = errs[at]
				break
			}
			r.last = sequences[at]
		}
		r.done <- err
	}
}
