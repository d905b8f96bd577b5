package queue

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"
)

// restore makes the streams anew if the server came back without them. It goes on until they are there or the queue is closed.
func (q *Queue) restore() {
	ctx, leave, err := q.enter(context.Background())
	if err != nil {
		return
	}
	defer leave()
	if !q.restoring.CompareAndSwap(false, true) {
		return
	}
	defer q.restoring.Store(false)
	wait := firstWait
	for {
		err := q.ensureStreams(ctx)
		if err == nil {
			err = q.lookAtRecords(ctx)
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		q.log.Warn("could not look after the streams", "error", err)
		if !pause(ctx, wait) {
			return
		}
		wait = min(2*wait, longestWait)
	}
}

func (q *Queue) ensureStreams(ctx context.Context) error {
	ctx, release := q.bounded(ctx, 2*answerTime, "$JS.API.STREAM.INFO.")
	defer release()
	for _, want := range q.wantedStreams() {
		if _, err := q.ensureStream(ctx, want); err != nil {
			return err
		}
	}
	return nil
}

func (q *Queue) wantedStreams() []jetstream.StreamConfig {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.wanted
}
