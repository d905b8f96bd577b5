package clients

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Turns lets each client do a bounded number of things at once. It knows only the clients that are doing or waiting for something. Make
// it with NewTurns.
type Turns struct {
	atOnce int64

	mu       sync.Mutex
	byClient map[string]*turn
}

// turn is what one client has.
type turn struct {
	free *semaphore.Weighted
	// users is how many calls hold or wait for a part of free.
	users int
}

// NewTurns returns Turns for atOnce things of each client.
func NewTurns(atOnce int64) *Turns { return &Turns{atOnce: atOnce, byClient: map[string]*turn{}} }

// Take waits for a turn of a client, which ends with done. It fails if there is none before ctx ends.
func (t *Turns) Take(ctx context.Context, client string) (done func(), err error) {
	one := t.enter(client)
	if !one.free.TryAcquire(1) {
		if err := one.free.Acquire(ctx, 1); err != nil {
			t.leave(client, one)
			return nil, err
		}
	}
	return t.end(client, one), nil
}

// TryTake is Take for those who do not wait; ok is false if the client has no turn left.
func (t *Turns) TryTake(client string) (done func(), ok bool) {
	one := t.enter(client)
	if !one.free.TryAcquire(1) {
		t.leave(client, one)
		return nil, false
	}
	return t.end(client, one), true
}

func (t *Turns) end(client string, one *turn) func() {
	return func() {
		one.free.Release(1)
		t.leave(client, one)
	}
}

func (t *Turns) enter(client string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	one, ok := t.byClient[client]
	if !ok {
		one = &turn{free: semaphore.NewWeighted(t.atOnce)}
		t.byClient[client] = one
	}
	one.users++
	return one
}

func (t *Turns) leave(client string, one *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(t.byClient, client)
	}
}
