package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// snapshotTime bounds the read of one kind of record of one cluster.
	snapshotTime = time.Minute
	// readerLife is how long the server keeps a reader that nobody reads from.
	readerLife = 30 * time.Second
	// readAhead is how many messages a reader asks for at once.
	readAhead = 500
)

var errGap = errors.New("a message got lost on the way")

// reading says what to read: messages of stream that match filter.
type reading struct {
	stream, filter string
	// newest asks for the newest message of each subject instead of all messages. It cannot be resumed.
	newest bool
	// after is the sequence after which to begin.
	after uint64
	// begun, if set, is asked whether to go on when the server has the reader, before the first message.
	begun func() error
}

func (r reading) config() jetstream.ConsumerConfig {
	c := jetstream.ConsumerConfig{
		FilterSubject: r.filter, AckPolicy: jetstream.AckNonePolicy, DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq: r.after + 1, MemoryStorage: true, Replicas: 1, InactiveThreshold: readerLife,
	}
	if r.newest {
		c.DeliverPolicy, c.OptStartSeq = jetstream.DeliverLastPerSubjectPolicy, 0
	}
	return c
}

// read calls each for every message in stream order, and caughtUp whenever no more are stored. It ends with an error from
// either, with errGap if it cannot tell that it saw everything, with that of reading.begun, and with whatever ends the connection.
func (q *Queue) read(ctx context.Context, r reading, each func(msg jetstream.Msg, sequence uint64) error, caughtUp func() error) error {
	create, release := q.bounded(ctx, answerTime, "$JS.API.CONSUMER.CREATE."+r.stream+".")
	consumer, err := q.js.CreateOrUpdateConsumer(create, r.stream, r.config())
	err = explain(create, err)
	release()
	if err != nil {
		return err
	}
	defer q.forget(r.stream, consumer.CachedInfo().Name)
	if r.begun != nil {
		if err := r.begun(); err != nil {
			return err
		}
	}
	if consumer.CachedInfo().NumPending == 0 {
		if err := caughtUp(); err != nil {
			return err
		}
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(readAhead))
	if err != nil {
		return err
	}
	defer messages.Stop()
	return readAll(ctx, messages, each, caughtUp)
}

// readAll hands over what comes, until an error ends it.
func readAll(
	ctx context.Context, messages jetstream.MessagesContext, each func(msg jetstream.Msg, sequence uint64) error, caughtUp func() error,
) error {
	for delivered := uint64(1); ; delivered++ {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return explain(ctx, err)
		}
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		if meta.Sequence.Consumer != delivered {
			return errGap
		}
		if err := each(msg, meta.Sequence.Stream); err != nil {
			return err
		}
		if meta.NumPending == 0 {
			if err := caughtUp(); err != nil {
				return err
			}
		}
	}
}

// forget removes a reader that is done. If that fails, the server removes it a little later.
func (q *Queue) forget(stream, consumer string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	ctx, release := q.interrupts.guard(ctx, "$JS.API.CONSUMER.DELETE.")
	defer release()
	if err := q.js.DeleteConsumer(ctx, stream, consumer); err != nil {
		q.log.Debug("left a reader to the server to remove", "stream", stream, "consumer", consumer, "error", err)
	}
}

// errAllRead ends a snapshot.
var errAllRead = errors.New("all read")

// snapshot calls each for the newest message of every subject of stream that matches filter.
func (q *Queue) snapshot(ctx context.Context, stream, filter string, each func(msg jetstream.Msg, sequence uint64) error) error {
	return q.readStored(ctx, reading{stream: stream, filter: filter, newest: true}, each)
}

// readStored calls each for what is stored.
func (q *Queue) readStored(ctx context.Context, r reading, each func(msg jetstream.Msg, sequence uint64) error) error {
	ctx, release := q.bounded(ctx, snapshotTime, "$JS.API.CONSUMER.MSG.NEXT."+r.stream+".")
	defer release()
	if err := q.read(ctx, r, each, func() error { return errAllRead }); !errors.Is(err, errAllRead) {
		return fmt.Errorf("read %s: %w", r.stream, err)
	}
	return nil
}
