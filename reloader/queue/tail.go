package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// tailLife is how long the server keeps a consumer that is idle.
	tailLife = 30 * time.Second
	// readAhead is how many messages a consumer asks for at once.
	readAhead = 500
	// heartbeat is how often the server reports on a request that waits for messages. Two missing ones end a Tail, and a request lasts pullTime.
	heartbeat, pullTime = 3 * time.Second, 15 * time.Second
)

var errGap = errors.New("a message was lost on the way")

// Tail reads a stream in order. It ends with its first error other than that of the context of Next, also if the stream is deleted: what follows
// it belongs to the stream that it began with.
type Tail struct {
	// Created identifies the stream: two streams of one name have different times.
	Created time.Time
	// First and Last are the sequences of its first and last message when the Tail was made.
	First, Last uint64

	c         *Conn
	consumer  jetstream.Consumer
	messages  jetstream.MessagesContext
	delivered uint64
}

// Stored is a message of a stream.
type Stored struct {
	Subject  string
	Header   nats.Header
	Data     []byte
	Sequence uint64
	// At is when it was stored, by the clock of the server.
	At time.Time
	// Pending is how many messages follow that match, when it was read.
	Pending uint64
}

// Tail reads what follows a sequence of a stream and matches one of the subjects, or everything without them.
func (c *Conn) Tail(ctx context.Context, stream string, after uint64, subjects ...string) (*Tail, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*answerTime)
	defer cancel()
	consumer, err := c.JS.CreateConsumer(ctx, stream, jetstream.ConsumerConfig{
		FilterSubjects: subjects, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: tailLife,
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", stream, explain(err))
	}
	t := &Tail{c: c, consumer: consumer}
	info, err := c.JS.Stream(ctx, stream)
	if err == nil {
		t.messages, err = consumer.Messages(jetstream.PullMaxMessages(readAhead), jetstream.PullExpiry(pullTime), jetstream.PullHeartbeat(heartbeat))
	}
	if err != nil {
		t.Close()
		return nil, fmt.Errorf("read %s: %w", stream, explain(err))
	}
	is := info.CachedInfo()
	t.Created, t.First, t.Last = is.Created, is.State.FirstSeq, is.State.LastSeq
	return t, nil
}

// Waiting returns how many messages were stored and match when the Tail was made.
func (t *Tail) Waiting() uint64 { return t.consumer.CachedInfo().NumPending }

// Next returns the next message, and waits for it until ctx ends.
func (t *Tail) Next(ctx context.Context) (Stored, error) {
	m, err := t.messages.Next(jetstream.NextContext(ctx))
	if err != nil {
		return Stored{}, err
	}
	meta, err := m.Metadata()
	if err != nil {
		return Stored{}, err
	}
	if t.delivered++; meta.Sequence.Consumer != t.delivered {
		return Stored{}, errGap
	}
	return Stored{m.Subject(), m.Headers(), m.Data(), meta.Sequence.Stream, meta.Timestamp, meta.NumPending}, nil
}

// Close ends the Tail. If the consumer cannot be deleted now, the server does so after tailLife.
func (t *Tail) Close() {
	if t.messages != nil {
		t.messages.Stop()
	}
	if !t.c.NATS.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	is := t.consumer.CachedInfo()
	if err := t.c.JS.DeleteConsumer(ctx, is.Stream, is.Name); err != nil {
		t.c.log.Debug("left a consumer to the server to delete", "stream", is.Stream, "consumer", is.Name, "error", err)
	}
}

// latest returns the newest message of a subject; false if there is none.
func (c *Conn) latest(ctx context.Context, stream, subject string) (Stored, bool, error) {
	return c.message(ctx, stream, func(ctx context.Context, s jetstream.Stream) (*jetstream.RawStreamMsg, error) {
		return s.GetLastMsgForSubject(ctx, subject)
	})
}

// At returns the message with a sequence; false if there is none.
func (c *Conn) At(ctx context.Context, stream string, sequence uint64) (Stored, bool, error) {
	return c.message(ctx, stream, func(ctx context.Context, s jetstream.Stream) (*jetstream.RawStreamMsg, error) {
		return s.GetMsg(ctx, sequence)
	})
}

func (c *Conn) message(ctx context.Context, stream string, get func(context.Context, jetstream.Stream) (*jetstream.RawStreamMsg, error)) (Stored, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	s, err := c.JS.Stream(ctx, stream)
	if err != nil {
		return Stored{}, false, explain(err)
	}
	m, err := get(ctx, s)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return Stored{}, false, nil
	}
	if err != nil {
		return Stored{}, false, explain(err)
	}
	return Stored{Subject: m.Subject, Header: m.Header, Data: m.Data, Sequence: m.Sequence, At: m.Time}, true, nil
}

// StateOf returns the subjects of what others may know of the state of a cluster: its workloads and its status.
func StateOf(cluster string) []string {
	return []string{workloadPrefix + "." + cluster + ".>", StatusSubject(cluster)}
}
