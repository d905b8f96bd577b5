package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// tormentor does at random what happens to clusters.
type tormentor struct {
	rig     *rig
	options options

	// crashes and restarts are those of the API server.
	crashes, restarts, cuts int
	err                     error
}

// torment continues until ctx ends, and leaves everything running, in fair weather. whole bounds what it has begun by then.
func (t *tormentor) torment(ctx, whole context.Context) error {
	var all sync.WaitGroup
	if t.options.KillEvery > 0 {
		all.Go(func() { t.kill(ctx) })
	}
	if t.options.APIServerEvery > 0 {
		all.Go(func() { t.restartAPIServer(ctx, whole) })
	}
	if t.rig.link != nil {
		all.Go(func() { t.cutLink(ctx) })
	}
	all.Go(func() { t.changeWeather(ctx) })
	all.Wait()
	t.rig.proxy.set(weather{})
	return t.err
}

// The absences of what was killed: mostly none, sometimes long enough to be missed.
const (
	shortAbsence = 300 * time.Millisecond
	longAbsence  = 5 * time.Second
)

// kill ends one program after another, with a pause that varies around KillEvery.
func (t *tormentor) kill(ctx context.Context) {
	d := newDice(t.options.Seed, 2)
	for {
		pause(ctx, d.upTo(2*t.options.KillEvery))
		if ctx.Err() != nil {
			return
		}
		away := d.upTo(shortAbsence)
		if d.chance(0.2) {
			away = d.between(shortAbsence, longAbsence)
		}
		t.rig.programs[d.n(len(t.rig.programs))].kill(away)
	}
}

// cutLink cuts Reroll off from NATS, once for each of Cuts, and leaves the link fixed.
func (t *tormentor) cutLink(ctx context.Context) {
	var whole time.Duration
	for _, cut := range t.options.Cuts {
		whole += cut
	}
	rest := max(0, t.options.Time-whole) / time.Duration(len(t.options.Cuts)+1)
	for _, cut := range t.options.Cuts {
		pause(ctx, rest)
		if ctx.Err() != nil {
			return
		}
		t.rig.link.Set(true)
		t.cuts++
		pause(ctx, cut)
		t.rig.link.Set(false)
	}
}

// restartAPIServer ends the API server again and again, mostly as a crash would.
func (t *tormentor) restartAPIServer(ctx, whole context.Context) {
	d := newDice(t.options.Seed, 3)
	for {
		pause(ctx, d.between(t.options.APIServerEvery/2, t.options.APIServerEvery*3/2))
		if ctx.Err() != nil {
			return
		}
		if err := t.restartOnce(whole, d.chance(0.3)); err != nil {
			t.err = fmt.Errorf("restart the API server: %w", err)
			return
		}
	}
}

// orderlyTime bounds an orderly end of the API server, which then is killed.
const orderlyTime = 15 * time.Second

func (t *tormentor) restartOnce(ctx context.Context, orderly bool) error {
	if orderly {
		t.restarts++
		bounded, cancel := context.WithTimeout(ctx, orderlyTime)
		defer cancel()
		_ = t.rig.kube.StopAPIServer(bounded) // it has ended in any case
	} else {
		t.crashes++
		t.rig.kube.KillAPIServer()
	}
	if t.rig.kube.StartAPIServer(ctx) == nil {
		return nil
	}
	pause(ctx, time.Second) // the port of a killed API server may still be in use
	return t.rig.kube.StartAPIServer(ctx)
}

// climate is what the weather of a run is drawn from. Half of it loses nothing.
var climate = []weather{
	{},
	{Unruly: true},
	{Unruly: true},
	{Unruly: true},
	{Unruly: true, Drop: 0.01},
	{Unruly: true, Drop: 0.1},
	{Drop: 1},
	{Cut: true},
}

// The lengths of one weather.
const (
	shortestWeather = time.Second
	longestWeather  = 8 * time.Second
)

func (t *tormentor) changeWeather(ctx context.Context) {
	if t.options.Weather != nil {
		<-ctx.Done()
		return
	}
	d := newDice(t.options.Seed, 4)
	for ctx.Err() == nil {
		t.rig.proxy.set(climate[d.n(len(climate))])
		pause(ctx, d.between(shortestWeather, longestWeather))
	}
}

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
