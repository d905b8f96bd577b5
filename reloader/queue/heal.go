package queue

import (
	"context"
	"fmt"
	"time"
)

const (
	// lookInterval is how often the embedded server is looked at, and stuckTime for how long it must be ill before that counts.
	lookInterval = time.Second
	stuckTime    = 10 * time.Second
	// roomAgain is what must be free on the disk, in bytes, before another start is worth it; less on a small disk.
	roomAgain = 16 << 20
)

// AwaitStuck waits until ctx ends, and returns its error, or until the embedded server has been ill for a while although its disk has
// room: after a failed write it stays as it is, and only another process can use the store again. With an external server it only
// waits for ctx.
func (q *Queue) AwaitStuck(ctx context.Context) error {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	var since time.Time
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case now := <-tick.C:
			ill := q.stuck()
			switch {
			case ill == nil:
				since = time.Time{}
			case since.IsZero():
				since = now
			case now.Sub(since) >= stuckTime:
				return fmt.Errorf("the store does not heal by itself, and its disk has room: another start may: %w", ill)
			}
		}
	}
}

// stuck returns what is wrong with the embedded server, or nil if nothing is, or its disk is full: then another start would not help.
func (q *Queue) stuck() error {
	if q.embedded == nil || q.closing() {
		return nil
	}
	ill := q.embedded.healthy()
	if ill == nil {
		return nil
	}
	total, free, err := diskSpace(q.embedded.dir)
	if err != nil || free < min(roomAgain, total/10) {
		return nil
	}
	return ill
}
