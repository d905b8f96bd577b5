package queue

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// TestHandledHintsMakeRoom fills the room for hints, handles them, and shows that new ones are taken again.
func TestHandledHintsMakeRoom(t *testing.T) {
	q := open(t, Options{HintsMaxBytes: 64 << 10})
	stored := 0
	for ; ; stored++ {
		if err := q.Put(testContext(t), []reloader.Hint{numbered(stored)}); errors.Is(err, ErrFull) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(testContext(t))
	handled := make(chan struct{}, stored)
	ended := make(chan error, 1)
	go func() {
		ended <- q.ConsumeHints(ctx, hint("a").Cluster, func(d Delivery) {
			d.Ack()
			handled <- struct{}{}
		})
	}()
	for range stored {
		<-handled
	}
	c, err := newConsumer(q, hint("a").Cluster, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The server takes note of acknowledgements a little later.
	deadline := time.After(waitTime)
	for err = errors.New("not tried"); err != nil; err = q.Put(testContext(t), []reloader.Hint{numbered(stored)}) {
		select {
		case <-deadline:
			t.Fatalf("still full after all was handled: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
		if err := c.purgeHandled(testContext(t)); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestUnhandledHintsStay shows that a full room alone makes nobody lose a hint.
func TestUnhandledHintsStay(t *testing.T) {
	q := open(t, Options{HintsMaxBytes: 64 << 10})
	c, err := newConsumer(q, hint("a").Cluster, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.bind(testContext(t)); err != nil {
		t.Fatal(err)
	}
	stored := 0
	for ; err == nil; stored++ {
		err = q.Put(testContext(t), []reloader.Hint{numbered(stored)})
	}
	if err := c.purgeHandled(testContext(t)); err != nil {
		t.Fatal(err)
	}
	// The server counts what is new for a consumer a little later.
	eventually(t, fmt.Sprintf("a backlog of %d", stored-1), func() bool { return backlog(t, q) == uint64(stored-1) })
}
