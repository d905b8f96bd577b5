package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

// Put stores hints. It returns nil only when all of them are stored; otherwise any part of them may be. A hint that can never be stored
// is dropped, logged and counted: an error would have its sender repeat it for ever, with all that came beside it. The error wraps ErrFull
// if there is no room, and ErrDisconnected if the server went away.
func (q *Queue) Put(ctx context.Context, hints []reloader.Hint) error {
	messages := make([]message, 0, len(hints))
	for _, h := range hints {
		m, err := hintMessage(h)
		if err != nil {
			q.metrics.dropped.Inc()
			q.log.Error("hint cannot be stored and is dropped", "config", h.Config.String(), "source", h.Source, "error", err)
			continue
		}
		messages = append(messages, m)
	}
	return q.hints.put(ctx, messages)
}

func hintMessage(h reloader.Hint) (message, error) {
	subject, err := configSubject(hintPrefix, h.Cluster, h.Config)
	if err != nil {
		return message{}, err
	}
	data, err := reloader.Encode(h)
	if err != nil {
		return message{}, err
	}
	return message{newMessage(subject, "hint", h.Cluster, h.Time, data), identity(h)}, nil
}

// identity returns what makes h the same hint as another. When it was received does not: two API servers, or a retry, may
// bring the same event twice.
func identity(h reloader.Hint) reloader.Hint {
	h.Received = time.Time{}
	h.Time = h.Time.Round(0).UTC()
	return h
}

// last returns the newest message of subject, or nil if there is none.
func (q *Queue) last(ctx context.Context, stream, subject string) (*jetstream.RawStreamMsg, error) {
	ctx, release := q.bounded(ctx, answerTime, "$JS.API.DIRECT.GET."+stream, "$JS.API.STREAM.MSG.GET."+stream)
	defer release()
	from := q.streams[stream]
	if from == nil {
		return nil, fmt.Errorf("the role %s does not read %s", q.role, stream)
	}
	raw, err := from.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, explain(ctx, err)
	}
	return raw, nil
}
