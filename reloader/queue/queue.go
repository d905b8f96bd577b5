package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Queue is an open connection to Reroll's streams. Make one with Open.
type Queue struct {
	log        *slog.Logger
	metrics    *metrics
	embedded   *embedded
	nc         *nats.Conn
	js         jetstream.JetStream
	connClosed chan struct{}
	interrupts interrupts
	level      int
	// role is what the queue was opened for.
	role Role
	// streams has those that the role looks at.
	streams map[string]jetstream.Stream
	// restoring is set while restore runs.
	restoring atomic.Bool

	hints     *batcher
	reloads   *batcher
	workloads *batcher
	// newest has what is known of the records of workloads that are stored, and lostRecords whether they still are.
	newest      newestOf
	lostRecords lostRecords

	// life ends when Close begins.
	life    context.Context
	endLife context.CancelCauseFunc

	mu sync.Mutex
	// readers counts the calls of ConsumeHints and Follow that are under way. It grows under mu, and only as long as life lasts.
	readers sync.WaitGroup
	// unconsumed is why the hints that somebody asks for do not arrive; nil if they do, or nobody asks.
	unconsumed error
	// wanted are the streams as this version wants them from this server. Under mu, since the connection may come back at any time.
	wanted []jetstream.StreamConfig
	// ends takes the queue down, the newest part first.
	ends []func(context.Context) error
}

// Open starts or reaches the server and makes the streams. ctx bounds the opening only. If a part fails, what was started is
// stopped again; the error names it, and never a password.
func Open(ctx context.Context, o Options) (*Queue, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	q := newQueue(o)
	if err := q.open(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("open queue: %w", err), q.giveUp(ctx))
	}
	return q, nil
}

func newQueue(o Options) *Queue {
	q := &Queue{
		log: o.Logger, connClosed: make(chan struct{}), streams: map[string]jetstream.Stream{}, role: o.Role,
		lostRecords: lostRecords{lost: make(chan struct{}, 1)},
		interrupts:  interrupts{advice: func(subject string) string { return advice(o.Role, subject) }},
	}
	q.life, q.endLife = context.WithCancelCause(context.Background())
	return q
}

// giveUp closes what was opened, also if ctx has ended.
func (q *Queue) giveUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*drainTime)
	defer cancel()
	return q.Close(ctx)
}

func (q *Queue) open(ctx context.Context, o Options) (err error) {
	if q.metrics, err = newMetrics(o.Registerer); err != nil {
		return err
	}
	q.onEnd(func(context.Context) error { q.metrics.unregister(o.Registerer); return nil })
	if o.URL == "" {
		if q.embedded, err = startEmbedded(o); err != nil {
			return err
		}
		q.onEnd(q.embedded.stop)
	}
	if err := q.connect(o); err != nil {
		return err
	}
	q.onEnd(q.drain)
	if err := q.checkPayload(); err != nil {
		return err
	}
	if err := q.prepare(ctx, o); err != nil {
		return err
	}
	q.hints = q.startBatcher(hintsStream, hintPrefix, 0)
	q.reloads = q.startBatcher(reloadsStream, reloadPrefix, recordLinger)
	q.workloads = q.startBatcher(workloadsStream, workloadPrefix, recordLinger)
	q.onEnd(q.waitForReaders)
	go q.watchStreams()
	return nil
}

// prepare finds out what the server can do, and finds or makes the streams that the role needs.
func (q *Queue) prepare(ctx context.Context, o Options) error {
	ctx, release := q.bounded(ctx, 2*answerTime, "$JS.API.INFO", "$JS.API.STREAM.INFO.")
	defer release()
	if err := q.examine(ctx, o); err != nil {
		return err
	}
	wanted := slices.DeleteFunc(wantedStreams(o, q.level), func(s jetstream.StreamConfig) bool { return !q.role.looksAt(s.Name) })
	q.mu.Lock()
	q.wanted = wanted
	q.mu.Unlock()
	for _, want := range wanted {
		stream, err := q.ensureStream(ctx, want)
		if err != nil {
			return err
		}
		q.streams[want.Name] = stream
	}
	return nil
}

// config returns a stream as it was when the queue was opened; the zero value if the role does not look at it.
func (q *Queue) config(stream string) jetstream.StreamConfig {
	if s := q.streams[stream]; s != nil {
		return s.CachedInfo().Config
	}
	return jetstream.StreamConfig{}
}

// recordLinger is how long records of a fan-out wait for each other: long enough for an atomic batch at the rate at which an API
// server takes patches. Nobody acts on a record, and a lone one does not wait.
const recordLinger = 50 * time.Millisecond

// startBatcher starts the batcher of a stream, atomic if both the server and the stream as it is allow that. In a crowd, a batch
// waits for up to linger.
func (q *Queue) startBatcher(stream, prefix string, linger time.Duration) *batcher {
	atomic := q.level >= levelAtomicBatch && q.config(stream).AllowAtomicPublish
	if !atomic && q.streams[stream] != nil {
		q.log.Info("storing messages one by one: the server has no atomic batches", "stream", stream, "api_level", q.level)
	}
	b := newBatcher(q, stream, prefix, atomic)
	b.linger = linger
	go b.run()
	q.onEnd(b.close)
	return b
}

func (q *Queue) onEnd(end func(context.Context) error) { q.ends = append(q.ends, end) }

func (q *Queue) closing() bool { return q.life.Err() != nil }

// Close ends ConsumeHints and Follow, stores what was accepted, closes the connection and stops the embedded server. It goes on
// to the next step when ctx ends, and then returns an error that names the steps that did not finish. Calling it again does nothing.
func (q *Queue) Close(ctx context.Context) error {
	q.mu.Lock()
	ends := q.ends
	q.ends = nil
	q.endLife(ErrClosed)
	q.mu.Unlock()
	var errs []error
	for i := len(ends) - 1; i >= 0; i-- {
		errs = append(errs, ends[i](ctx))
	}
	return errors.Join(errs...)
}

// enter begins a call that lasts until its ctx or the queue ends, whichever is first. The returned context ends then; the caller
// must call the function when the call is over.
func (q *Queue) enter(ctx context.Context) (context.Context, func(), error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closing() {
		return nil, nil, ErrClosed
	}
	q.readers.Add(1)
	ctx, stop := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(q.life, func() { stop(ErrClosed) })
	return ctx, func() {
		unhook()
		stop(nil)
		q.readers.Done()
	}, nil
}

// ended returns why a call that lasted until ctx ended: ErrClosed, or nil if its caller wanted it to end.
func ended(ctx context.Context) error {
	if err := context.Cause(ctx); errors.Is(err, ErrClosed) {
		return err
	}
	return nil
}

func (q *Queue) waitForReaders(ctx context.Context) error {
	over := make(chan struct{})
	go func() {
		defer close(over)
		q.readers.Wait()
	}()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for handlers: %w", ctx.Err())
	}
}

// drain flushes acknowledgements and closes the connection.
func (q *Queue) drain(ctx context.Context) error {
	if err := q.nc.Drain(); err != nil {
		// Without a server there is nothing to flush to.
		q.nc.Close()
	}
	select {
	case <-q.connClosed:
		return nil
	case <-ctx.Done():
		q.nc.Close()
		return fmt.Errorf("close connection to NATS: %w", ctx.Err())
	}
}

// healthTime bounds the question whether the server answers.
const healthTime = 2 * time.Second

// Healthy returns nil if records can be stored now, as far as the server says, and the reason otherwise.
func (q *Queue) Healthy(ctx context.Context) error {
	if q.closing() {
		return ErrClosed
	}
	if q.embedded != nil {
		if err := q.embedded.healthy(); err != nil {
			return err
		}
	}
	if !q.nc.IsConnected() {
		return fmt.Errorf("%w: %v", ErrDisconnected, q.nc.Status())
	}
	ctx, release := q.bounded(ctx, healthTime, "$JS.API.STREAM.INFO.")
	defer release()
	for _, want := range q.wantedStreams() {
		s, err := q.js.Stream(ctx, want.Name)
		if err == nil {
			err = quorum(s.CachedInfo().Cluster)
		}
		if err != nil {
			return fmt.Errorf("stream %s: %w", want.Name, explain(ctx, err))
		}
	}
	return nil
}

// bounded returns ctx with a time limit, ended early by a denied permission on one of the prefixes, the loss of the connection,
// or Close. The caller must call the function when the call has returned.
func (q *Queue) bounded(ctx context.Context, limit time.Duration, prefixes ...string) (context.Context, func()) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w within %v", errSilent, limit))
	ctx, release := q.interrupts.guard(ctx, prefixes...)
	ctx, stop := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(q.life, func() { stop(ErrClosed) })
	if q.closing() {
		stop(ErrClosed)
	}
	return ctx, func() {
		unhook()
		stop(nil)
		release()
		cancel()
	}
}
