package main

import (
	"math/rand/v2"
	"sync"
	"time"
)

// dice are chances that come from a seed. Several goroutines may throw them; each part of a run has its own, so that one does not
// change the luck of another.
type dice struct {
	mu     sync.Mutex
	source *rand.Rand
}

func newDice(seed, part uint64) *dice { return &dice{source: rand.New(rand.NewPCG(seed, part))} }

// n returns a number from 0 to n-1.
func (d *dice) n(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.source.IntN(n)
}

// chance returns true with probability p.
func (d *dice) chance(p float64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.source.Float64() < p
}

// upTo returns a duration from 0 to less than longest.
func (d *dice) upTo(longest time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Duration(d.source.Int64N(int64(longest)))
}

// between returns a duration from shortest to less than longest.
func (d *dice) between(shortest, longest time.Duration) time.Duration {
	return shortest + d.upTo(longest-shortest)
}
