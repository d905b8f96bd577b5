package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

const (
	// maxReason bounds the reason that is kept with a message that was set aside.
	maxReason = 512
	// retrySetAside is when a message that could not be set aside comes again.
	retrySetAside = 5 * time.Second
)

// Headers of a message that was set aside.
const (
	headerReason    = "Reroll-Reason"
	headerSubject   = "Reroll-Subject"
	headerStream    = "Reroll-Stream"
	headerSequence  = "Reroll-Sequence"
	headerTruncated = "Reroll-Truncated"
)

// dismiss sets a hint aside and then ends its delivery. If it cannot be set aside, it comes again.
func (q *Queue) dismiss(msg jetstream.Msg, sequence uint64, reason error) {
	err := q.setAside(q.life, hintsStream, msg.Subject(), sequence, msg.Data(), reason)
	switch {
	case err != nil:
		err = msg.NakWithDelay(retrySetAside)
	case q.level >= levelMessageTTL:
		err = msg.TermWithReason(printable(reason.Error()))
	default:
		err = msg.Term()
	}
	if err != nil {
		q.log.Warn("could not end the delivery of an unreadable hint; it will come again", "sequence", sequence, "error", err)
	}
}

// setAside keeps what could not be read, with its reason, for a person or a later program. Setting the same message aside again
// replaces it.
func (q *Queue) setAside(ctx context.Context, stream, subject string, sequence uint64, data []byte, reason error) error {
	m := &nats.Msg{
		Subject: fmt.Sprintf("%s.%s.%d", setAsidePrefix, escape(strings.ToLower(stream)), sequence),
		Data:    data,
		Header: nats.Header{
			headerReason:   {printable(reason.Error())},
			headerSubject:  {subject},
			headerStream:   {stream},
			headerSequence: {strconv.FormatUint(sequence, 10)},
		},
	}
	if limit := q.limit(); len(data) > limit {
		// Together with the headers it might exceed what the server takes.
		m.Data = data[:limit]
		m.Header.Set(headerTruncated, strconv.Itoa(len(data)))
	}
	ctx, release := q.bounded(ctx, answerTime, setAsidePrefix)
	defer release()
	_, err := q.js.PublishMsg(ctx, m)
	log := q.log.With("stream", stream, "subject", subject, "sequence", sequence, "newer", errors.Is(reason, reloader.ErrNewerVersion))
	if err != nil {
		err = explain(ctx, err)
		log.Error("could not set an unreadable message aside", "reason", reason, "error", err)
		return err
	}
	q.metrics.setAside.WithLabelValues(stream).Inc()
	log.Warn("set an unreadable message aside", "reason", reason)
	return nil
}

// printable returns s as a header may have it: one line, of bounded length.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	return strings.ToValidUTF8(s[:min(len(s), maxReason)], "")
}
