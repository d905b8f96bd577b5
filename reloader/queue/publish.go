package queue

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/reroll-dev/reroll/reloader"
)

const (
	// maxBatch and maxBatchBytes bound an atomic batch.
	maxBatch, maxBatchBytes = 1000, 8 << 20
	// batchFrom is the number of messages from which an atomic batch is faster than as many single messages: a batch costs about 4 ms however
	// small it is, and a single message one fsync.
	batchFrom = 15
)

// publish stores messages of one stream in their order. It returns nil only if all of them are stored.
func (c *Conn) publish(ctx context.Context, messages []*nats.Msg) error {
	for len(messages) > 0 {
		n, size := 0, 0
		for n < len(messages) && n < maxBatch && (n == 0 || size+messages[n].Size() <= maxBatchBytes) {
			size += messages[n].Size()
			n++
		}
		if err := c.publishSome(ctx, messages[:n]); err != nil {
			return explain(err)
		}
		messages = messages[n:]
	}
	return nil
}

func (c *Conn) publishSome(ctx context.Context, messages []*nats.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if len(messages) >= batchFrom {
		// The answer to the first message would cost a round trip, and that of the last one says the same.
		_, err := jetstreamext.PublishMsgBatch(ctx, c.JS, messages, jetstreamext.BatchFlowControl{AckTimeout: answerTime})
		return err
	}
	for _, m := range messages { // of an atomic batch that was refused
		for _, header := range []string{jetstreamext.BatchIDHeader, jetstreamext.BatchSeqHeader, jetstreamext.BatchCommitHeader} {
			m.Header.Del(header)
		}
	}
	futures := make([]jetstream.PubAckFuture, len(messages))
	for i, m := range messages {
		var err error
		if futures[i], err = c.JS.PublishMsgAsync(m); err != nil {
			return err
		}
	}
	var errs []error
	for _, f := range futures {
		select {
		case <-f.Ok():
		case err := <-f.Err():
			errs = append(errs, err)
		case <-ctx.Done():
			return errors.Join(append(errs, ctx.Err())...)
		}
	}
	return errors.Join(errs...)
}

// NewMessage returns a message of a stream. Its header is there to be written.
func NewMessage(subject string, data []byte) *nats.Msg {
	return &nats.Msg{Subject: subject, Header: nats.Header{}, Data: data}
}

// MessageOf returns the message that stores a record on a subject.
func MessageOf[R reloader.Record](subject string, r R) (*nats.Msg, error) {
	data, err := reloader.Encode(r)
	return NewMessage(subject, data), err
}
