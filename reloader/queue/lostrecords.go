package queue

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// lostRecords knows which stream has the records of workloads.
type lostRecords struct {
	// looking is held while the stream is inspected: of two at a time, one would judge by what the other has just forgotten. It guards made.
	looking sync.Mutex
	// made is when the stream was made; zero before it was first inspected.
	made time.Time
	// lost gets a message when the records are not there any more.
	lost chan struct{}
}

// KeepRecords calls lost, until ctx ends, each time the records of workloads that this Queue has loaded and stored are not there any more: NATS came
// back without its streams, or with an earlier state of them. That is noticed when the connection comes back, or else within 15 seconds.
func (q *Queue) KeepRecords(ctx context.Context, lost func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.lostRecords.lost:
			q.log.Warn("NATS does not have the records of workloads any more; they are stored again")
			lost()
		}
	}
}

// lookAtRecords tells KeepRecords if the stream of the records of workloads is another one than was known, or lacks a message that was there. A role
// that has nothing to do with them does not look.
func (q *Queue) lookAtRecords(ctx context.Context) error {
	if !slices.ContainsFunc(q.wantedStreams(), func(s jetstream.StreamConfig) bool { return s.Name == workloadsStream }) {
		return nil
	}
	r := &q.lostRecords
	r.looking.Lock()
	defer r.looking.Unlock()
	highest := q.newest.last() // before the stream is asked: what is stored meanwhile proves nothing
	is, err := q.streamInfo(ctx, workloadsStream)
	if err != nil {
		return err
	}
	known := r.made
	r.made = is.Created
	if (known.IsZero() || known.Equal(is.Created)) && is.State.LastSeq >= highest {
		return nil
	}
	q.newest.forgetAll()
	select {
	case r.lost <- struct{}{}:
	default:
	}
	return nil
}
