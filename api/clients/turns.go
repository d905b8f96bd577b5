package clients

import (
	"context"
	"sync"
)

// Turns lets each client do a bounded number of things at once. It knows only the clients that are doing or waiting for something. Make
// it with NewTurns.
type Turns struct {
	atOnce int

	mu       sync.Mutex
	byClient map[string]*turn
}

// turn is what one client has: what it does fills busy, and users is how many calls do or wait for something.
type turn struct {
	busy  chan struct{}
	users int
}

// NewTurns returns Turns for atOnce things of each client.
func NewTurns(atOnce int) *Turns { return &Turns{atOnce: atOnce, byClient: map[string]*turn{}} }

// Take waits for a turn of a client, which ends with done. It fails if there is none before ctx ends.
func (t *Turns) Take(ctx context.Context, client string) (done func(), err error) {
	one := t.enter(client)
	select {
	case one.busy <- struct{}{}:
		return func() { t.leave(client, true) }, nil
	default:
	}
	select {
	case one.busy <- struct{}{}:
		return func() { t.leave(client, true) }, nil
	case <-ctx.Done():
		t.leave(client, false)
		return nil, ctx.Err()
	}
}

// TryTake is Take for those who do not wait; ok is false if the client has no turn left.
func (t *Turns) TryTake(client string) (done func(), ok bool) {
	ended, end := context.WithCancel(context.Background())
	end()
	done, err := t.Take(ended, client)
	return done, err == nil
}

func (t *Turns) enter(client string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	one, ok := t.byClient[client]
	if !ok {
		one = &turn{busy: make(chan struct{}, t.atOnce)}
		t.byClient[client] = one
	}
	one.users++
	return one
}

func (t *Turns) leave(client string, had bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.byClient[client]
	if had {
		<-one.busy
	}
	if one.users--; one.users == 0 {
		delete(t.byClient, client)
	}
}
