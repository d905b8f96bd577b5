package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// recorder stores single messages of one stream. While it commits some, callers queue up; it commits theirs together next. So many callers
// share an fsync, and one alone does not wait for others.
type recorder struct {
	q      *Queue
	stream string
	calls  chan record
	quit   chan struct{}
	done   chan struct{}
}

// record is a message whose caller waits on result.
type record struct {
	message *nats.Msg
	result  chan error
}

func (q *Queue) startRecorder(stream string) *recorder {
	r := &recorder{q: q, stream: stream, calls: make(chan record), quit: make(chan struct{}), done: make(chan struct{})}
	go r.run()
	q.onClose(r.close)
	return r
}

// put returns nil when m is stored. The end of ctx ends the wait, but m may still be stored.
func (r *recorder) put(ctx context.Context, m *nats.Msg) error {
	call := record{m, make(chan error, 1)}
	select {
	case r.calls <- call:
	case <-ctx.Done():
		return fmt.Errorf("store in %s: %w", r.stream, ctx.Err())
	case <-r.quit:
		return fmt.Errorf("store in %s: %w", r.stream, ErrClosed)
	}
	select {
	case err := <-call.result:
		return wrap(err, "store in %s", r.stream)
	case <-ctx.Done():
		return fmt.Errorf("store in %s: %w", r.stream, ctx.Err())
	}
}

// close refuses further calls and waits for those under way.
func (r *recorder) close(ctx context.Context) error {
	close(r.quit)
	return await(ctx, r.done, "store what was accepted for "+r.stream)
}

func (r *recorder) run() {
	defer close(r.done)
	for {
		select {
		case first := <-r.calls:
			r.commit(r.gather(first))
		case <-r.quit:
			return
		}
	}
}

// gather returns first and the calls that wait already.
func (r *recorder) gather(first record) []record {
	for calls := []record{first}; ; {
		select {
		case next := <-r.calls:
			if calls = append(calls, next); len(calls) < maxBatch {
				continue
			}
		default:
		}
		return calls
	}
}

// commit has a time limit of its own: the context of one caller must not fail the others.
func (r *recorder) commit(calls []record) {
	messages := make([]*nats.Msg, len(calls))
	for i, c := range calls {
		messages[i] = c.message
	}
	begin := time.Now()
	err := r.q.publish(context.Background(), messages)
	r.q.metrics.published(r.stream, begin, err)
	// If the server refuses one message, the others must not be refused with it.
	alone := len(calls) > 1 && refusal(err) != nil && !errors.Is(err, ErrFull)
	for i, c := range calls {
		if alone {
			err = r.q.publish(context.Background(), messages[i:i+1])
		}
		c.result <- err
	}
}
