package queue

import (
	"cmp"
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

// publish stores messages and returns an error for each, or nil if all are stored.
func (b *batcher) publish(ctx context.Context, messages []*nats.Msg) []error {
	if b.atomic && len(messages) >= atomicFrom {
		return b.publishAtomic(ctx, messages)
	}
	return b.publishSingly(ctx, messages)
}

// publishAtomic stores all messages or none.
func (b *batcher) publishAtomic(ctx context.Context, messages []*nats.Msg) []error {
	// The answer to the first message would cost a round trip and say nothing new: the stream is known to take batches.
	_, err := jetstreamext.PublishMsgBatch(ctx, b.js, messages, jetstreamext.BatchFlowControl{AckTimeout: answerTime})
	if err == nil {
		return nil
	}
	errs := make([]error, len(messages))
	for i := range errs {
		errs[i] = explain(ctx, err)
	}
	return errs
}

// publishSingly sends all messages and then waits for all answers.
func (b *batcher) publishSingly(ctx context.Context, messages []*nats.Msg) []error {
	futures := make([]jetstream.PubAckFuture, len(messages))
	errs := make([]error, len(messages))
	for i, m := range messages {
		futures[i], errs[i] = b.js.PublishMsgAsync(m)
	}
	for i, f := range futures {
		if errs[i] == nil {
			errs[i] = await(ctx, f)
		}
		errs[i] = explain(ctx, errs[i])
	}
	if errors.Join(errs...) == nil {
		return nil
	}
	return errs
}

func await(ctx context.Context, f jetstream.PubAckFuture) error {
	select {
	case <-f.Ok():
		return nil
	case err := <-f.Err():
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
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

// traceable is a record that is part of a trace.
type traceable interface {
	TraceParent(messageID string) string
	MessageKey() string
}

// traced returns m in the trace of the record that it carries. Its parent ID is that of the span which tells of the message's storing.
func traced(m *nats.Msg, record traceable) *nats.Msg {
	m.Header["traceparent"] = []string{record.TraceParent(cmp.Or(record.MessageKey(), m.Header.Get("ce-id")))}
	return m
}
