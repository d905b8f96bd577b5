package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
	"github.com/synadia-io/orbit.go/jetstreamext"
)

var errNoAnswer = fmt.Errorf("%w within %v", errSilent, answerTime)

// publish stores messages and returns the sequence of each, and an error for each, or nil if all are stored.
func (b *batcher) publish(ctx context.Context, messages []*nats.Msg) ([]uint64, []error) {
	if b.atomic && len(messages) >= atomicFrom {
		return b.publishAtomic(ctx, messages)
	}
	return b.publishSingly(ctx, messages)
}

// publishAtomic stores all messages or none, unless one of them expects what is not so any more: that one must not keep others from being stored.
func (b *batcher) publishAtomic(ctx context.Context, messages []*nats.Msg) ([]uint64, []error) {
	// The answer to the first message would cost a round trip and say nothing new: the stream is known to take batches.
	ack, err := jetstreamext.PublishMsgBatch(ctx, b.js, messages, jetstreamext.BatchFlowControl{AckTimeout: answerTime})
	sequences, errs := make([]uint64, len(messages)), make([]error, len(messages))
	if err == nil {
		for i := range sequences {
			sequences[i] = ack.Sequence - uint64(len(messages)-1-i)
		}
		return sequences, nil
	}
	if isConflict(err) {
		for _, m := range messages {
			for _, header := range []string{jetstreamext.BatchIDHeader, jetstreamext.BatchSeqHeader, jetstreamext.BatchCommitHeader} {
				m.Header.Del(header)
			}
		}
		return b.publishSingly(ctx, messages)
	}
	for i := range errs {
		errs[i] = explain(ctx, err)
	}
	return sequences, errs
}

// publishSingly sends all messages and then waits for all answers.
func (b *batcher) publishSingly(ctx context.Context, messages []*nats.Msg) ([]uint64, []error) {
	futures := make([]jetstream.PubAckFuture, len(messages))
	sequences, errs := make([]uint64, len(messages)), make([]error, len(messages))
	for i, m := range messages {
		futures[i], errs[i] = b.js.PublishMsgAsync(m)
	}
	for i, f := range futures {
		if errs[i] == nil {
			sequences[i], errs[i] = await(ctx, f)
		}
		errs[i] = explain(ctx, errs[i])
	}
	if errors.Join(errs...) == nil {
		return sequences, nil
	}
	return sequences, errs
}

func await(ctx context.Context, f jetstream.PubAckFuture) (uint64, error) {
	select {
	case ack := <-f.Ok():
		return ack.Sequence, nil
	case err := <-f.Err():
		return 0, err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// newMessage returns a message with the attributes of CloudEvents, so that tools that know nothing of Reroll can tell what it is.
func newMessage(subject, kind, cluster string, at time.Time, data []byte) *nats.Msg {
	return &nats.Msg{Subject: subject, Data: data, Header: nats.Header{
		"ce-specversion": {"1.0"},
		"ce-id":          {nuid.Next()},
		"ce-type":        {"dev.reroll." + kind + ".v1"},
		"ce-source":      {"/clusters/" + cluster},
		"ce-time":        {at.UTC().Format(time.RFC3339Nano)},
		"content-type":   {"application/json"},
	}}
}
