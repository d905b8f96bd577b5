package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Queue is an open connection to Reroll's streams. Make one with Open.
type Queue struct {
	*Conn
	metrics *metrics
	history *recorder
	state   *recorder

	// life ends when Close begins.
	life   context.Context
	cancel context.CancelCauseFunc
	// restored holds a value when the connection was lost and is back, and all streams exist.
	restored chan struct{}

	mu sync.Mutex // guards the rest
	// users counts the calls under way that last until Close.
	users sync.WaitGroup
	// consuming is why hints do not arrive; nil if they do, or if nothing consumes them.
	consuming error
	// closers run in reverse order by Close.
	closers []func(context.Context) error
}

// Open starts or reaches the server and creates the streams. ctx bounds the opening only. If a part fails, what was started is stopped again;
// the error names it, and never contains a password. See Permanent.
func Open(ctx context.Context, o Options) (*Queue, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errLogin, err)
	}
	q := &Queue{Conn: newConn(o), restored: make(chan struct{}, 1)}
	q.life, q.cancel = context.WithCancelCause(context.Background())
	q.onReconnect = func() { go q.restore() }
	if err := q.open(ctx); err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*drainTime)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("open queue: %w", err), q.Close(ctx))
	}
	return q, nil
}

func (q *Queue) open(ctx context.Context) (err error) {
	if q.options.URL == "" {
		if q.embedded, err = startEmbedded(q.options); err != nil {
			return err
		}
		q.onClose(q.embedded.stop)
	}
	q.onClose(q.Conn.Close)
	if err := q.connect(); err != nil {
		return err
	}
	if err := q.prepare(ctx); err != nil {
		return err
	}
	q.metrics = newMetrics(q)
	q.history, q.state = q.startRecorder(HistoryStream), q.startRecorder(StateStream)
	q.onClose(q.waitForUsers)
	return nil
}

func (q *Queue) onClose(f func(context.Context) error) { q.closers = append(q.closers, f) }

// Close ends ConsumeHints and Follow, stores what was accepted, closes the connection and stops the embedded server. When ctx ends it continues
// with the next step, and returns an error that names the steps that did not finish. Calling it again does nothing.
func (q *Queue) Close(ctx context.Context) error {
	q.mu.Lock()
	closers := q.closers
	q.closers = nil
	q.cancel(ErrClosed)
	q.mu.Unlock()
	var errs []error
	for i := len(closers) - 1; i >= 0; i-- {
		errs = append(errs, closers[i](ctx))
	}
	return errors.Join(errs...)
}

// enter begins a call that lasts until its ctx or the queue ends, whichever is first. The returned context ends then; the caller
// must call the function when the call is over.
func (q *Queue) enter(ctx context.Context) (context.Context, func(), error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.life.Err() != nil {
		return nil, nil, ErrClosed
	}
	q.users.Add(1)
	ctx, stop := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(q.life, func() { stop(ErrClosed) })
	return ctx, func() {
		unhook()
		stop(nil)
		q.users.Done()
	}, nil
}

// ended returns why a call that lasted until ctx ended: ErrClosed, or nil if its caller wanted it to end.
func ended(ctx context.Context) error {
	if err := context.Cause(ctx); errors.Is(err, ErrClosed) {
		return err
	}
	return nil
}

func (q *Queue) waitForUsers(ctx context.Context) error {
	over := make(chan struct{})
	go func() {
		defer close(over)
		q.users.Wait()
	}()
	return await(ctx, over, "wait for handlers")
}

// await returns when done is closed. If ctx ends first, the error says what was not done.
func await(ctx context.Context, done <-chan struct{}, what string) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", what, ctx.Err())
	}
}

// restore creates the streams again if the server came back without them, and reports that the connection is back.
func (q *Queue) restore() {
	ctx, leave, err := q.enter(context.Background())
	if err != nil {
		return
	}
	defer leave()
	if Retry(ctx, q.log, "could not check the streams", func() error { return q.prepare(ctx) }) != nil {
		return
	}
	select {
	case q.restored <- struct{}{}:
	default: // it is reported already
	}
}

// Healthy returns nil if records can be stored now, as far as the server says, and the reason otherwise.
func (q *Queue) Healthy(ctx context.Context) error {
	if q.life.Err() != nil {
		return ErrClosed
	}
	if err := q.embedded.healthy(); err != nil {
		return err
	}
	if !q.NATS.IsConnected() {
		return fmt.Errorf("%w: %v", ErrDisconnected, q.NATS.Status())
	}
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	for _, name := range q.options.Streams {
		if _, err := q.JS.Stream(ctx, name); err != nil {
			return fmt.Errorf("stream %s: %w", name, explain(err))
		}
	}
	return nil
}

// healthTime bounds Healthy.
const healthTime = 2 * time.Second
