package queue

import (
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

// dismiss ends the delivery of a hint that cannot be read.
func (q *Queue) dismiss(msg jetstream.Msg, sequence uint64, reason error) {
	q.noteUnreadable(hintsStream, msg.Subject(), sequence, reason)
	if err := msg.Term(); err != nil {
		q.log.Warn("could not end the delivery of an unreadable hint; it will come again", "sequence", sequence, "error", err)
	}
}

// noteUnreadable counts and logs a stored message that cannot be read.
func (q *Queue) noteUnreadable(stream, subject string, sequence uint64, reason error) {
	q.metrics.unreadable.WithLabelValues(stream).Inc()
	q.log.Error("cannot read a stored message", "stream", stream, "subject", subject, "sequence", sequence,
		"newer", errors.Is(reason, reloader.ErrNewerVersion), "error", reason)
}
