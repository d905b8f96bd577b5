package dispatcher

import (
	"context"
	"hash/fnv"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/live"
)

// sweepGetFactor is how many times longer a sweep takes where the API server refuses to list metadata, so that each config costs a GET: each
// GET of a Secret is an audited read of it, which people who watch for such reads have to look at.
const sweepGetFactor = 6

// scope is where configs are listed at once.
type scope struct {
	kind      reloader.ConfigKind
	namespace string
}

func scopeOf(c reloader.Config) scope { return scope{c.Kind, c.Namespace} }

// sweep looks at every config that a tracked workload depends on and settles every edge: baselines for new ones, pending for
// those that changed while nobody looked. It repeats what fails, and ends with an error only if ctx does.
func (d *Dispatcher) sweep(ctx context.Context) error {
	for _, ref := range d.index.refs(&d.mu) {
		d.edgesQ.Add(ref)
	}
	return d.waitSettled(ctx)
}

// waitSettled waits until no tracked workload lacks a baseline, and each is on record: who dies after that can miss no edit.
func (d *Dispatcher) waitSettled(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !d.index.settled(&d.mu) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// forgetUnseen deletes the records of workloads that went away while no process ran. Those of a kind that cannot be seen now are kept until it can.
func (d *Dispatcher) forgetUnseen() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ref := range d.records {
		if d.Workloads.Tracked(ref.Kind) {
			delete(d.records, ref)
			d.settleQ.Add(ref)
		}
	}
}

// Suspect has every config looked at now, because hints may have been lost.
func (d *Dispatcher) Suspect(reason string) {
	select {
	case d.suspicion <- reason:
	default: // one full sweep is due anyway
	}
}

// keepSweeping looks at every config that some workload depends on, once in each interval and evenly spread over it, until ctx ends.
// A suspicion makes it look at all of them at once.
func (d *Dispatcher) keepSweeping(ctx context.Context) {
	if d.SweepInterval <= 0 {
		return
	}
	d.metrics.swept.SetToCurrentTime() // the sweep at the start has looked at all
	turns := 0
	for round := 0; ctx.Err() == nil; round++ {
		began := time.Now()
		switch d.sweepRound(ctx, round) {
		case lookedAtAll:
			turns = sweepGetFactor
		case lookedInTurn:
			turns++
		default:
			turns = 0
		}
		d.metrics.sweepSeconds.Observe(time.Since(began).Seconds())
		d.expandPatterns()
		if turns >= sweepGetFactor && d.covered.whole() {
			d.metrics.swept.SetToCurrentTime()
			turns = 0
		}
	}
}

// looked is how much of a scope, or of all of them, a sweep has looked at; the later ones are less.
type looked int

const (
	lookedAtAll looked = iota
	// lookedInTurn is at those whose turn it was: sweepGetFactor such rounds after one another are at all.
	lookedInTurn
	// lookedInVain is not even at those, because of an error.
	lookedInVain
	// lookedUp is until somebody suspected a gap.
	lookedUp
)

// sweepRound looks at every scope, evenly spread over the interval, and returns the least that it has looked at of one. A suspicion is about those
// that it has looked at, too, so that it begins anew then, and does not pause any more.
func (d *Dispatcher) sweepRound(ctx context.Context, round int) (least looked) {
	scopes := d.scopes()
	d.covered.begin(scopes)
	p := pace{round: round, step: d.SweepInterval / time.Duration(max(1, len(scopes)))}
	begin := time.Now()
	p.hurry = d.pauseSweep(ctx, p.step)
	for i := 0; i < len(scopes) && ctx.Err() == nil; i++ {
		if i > 0 && !p.hurry && d.pauseSweep(ctx, time.Until(begin.Add(time.Duration(i+1)*p.step))) {
			p.hurry, i, least = true, 0, lookedAtAll
		}
		of := d.sweepScope(ctx, scopes[i], p)
		if of == lookedUp {
			p.hurry, i, least = true, -1, lookedAtAll
			continue
		}
		least = max(least, of)
	}
	if ctx.Err() != nil {
		return lookedInVain
	}
	return least
}

// pace is how a scope is swept: in which round, how long it may take, and whether there is no time for that.
type pace struct {
	round int
	step  time.Duration
	hurry bool
}

// turn reports whether it is the turn of c, which has to be read to be looked at: each has one in sweepGetFactor rounds.
func (p pace) turn(c reloader.Config) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(c.String()))
	return p.hurry || h.Sum32()%sweepGetFactor == uint32(p.round%sweepGetFactor)
}

// pauseSweep waits, and reports whether somebody suspects a gap.
func (d *Dispatcher) pauseSweep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case reason := <-d.suspicion:
		d.Logger.Info("sweeping everything", "reason", reason)
		return true
	}
	return false
}

// scopes returns where there are configs that some workload depends on, in a fixed order.
func (d *Dispatcher) scopes() []scope {
	d.mu.Lock()
	defer d.mu.Unlock()
	seen := map[scope]bool{}
	var found []scope
	for c := range d.index.byConfig {
		if s := scopeOf(c); !seen[s] && c.Cluster == "" {
			seen[s] = true
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b scope) int {
		return compareConfigs(reloader.Config{Kind: a.kind, Namespace: a.namespace}, reloader.Config{Kind: b.kind, Namespace: b.namespace})
	})
	return found
}

// sweepScope looks at the configs of one scope that are not in the version last seen. Where versions may not be listed, it looks at those
// whose turn it is, spread over the time that there is. A list that fails is tried again, and covered tells whether that has come to anything.
func (d *Dispatcher) sweepScope(ctx context.Context, s scope, p pace) looked {
	switch err := d.sweepListed(ctx, s); {
	case err == nil:
		return lookedAtAll
	case !apierrors.IsForbidden(err):
		d.Logger.Warn("sweep could not list configs", "kind", s.kind, "namespace", s.namespace, "error", err)
		d.sweepQ.AddRateLimited(s)
		return lookedAtAll
	}
	missed := d.covered.missed(s)
	known := slices.DeleteFunc(d.knownIn(s), func(c reloader.Config) bool { return !p.turn(c) })
	for i, c := range known {
		if i > 0 && !p.hurry && d.pauseSweep(ctx, p.step/time.Duration(len(known))) {
			return lookedUp
		}
		if ctx.Err() != nil {
			return lookedInVain
		}
		d.sweepConfig(ctx, c)
	}
	switch {
	case p.hurry:
		return lookedAtAll
	case missed: // a turn has gone by
		return lookedInVain
	}
	return lookedInTurn
}

// sweepListed lists the configs of one scope and looks at those that are not in the version last seen.
func (d *Dispatcher) sweepListed(ctx context.Context, s scope) error {
	at := time.Now()
	listed, err := d.Configs.List(ctx, s.kind, s.namespace)
	if !apierrors.IsForbidden(err) {
		d.covered.list(s, err == nil)
	}
	if err != nil {
		return err
	}
	for _, c := range d.knownIn(s) {
		if ctx.Err() != nil {
			return nil
		}
		if meta, there := listed[c]; !d.asSeen(c, meta, there) {
			d.sweepConfig(ctx, c)
		} else {
			d.seenAgain(c, meta, there, at)
		}
	}
	return nil
}

// sweepAgain sweeps a scope whose configs could not be listed. One that may not be listed waits for its turn.
func (d *Dispatcher) sweepAgain(ctx context.Context, s scope) time.Duration {
	if err := d.sweepListed(ctx, s); err != nil && !apierrors.IsForbidden(err) {
		return again
	}
	return 0
}

func (d *Dispatcher) knownIn(s scope) []reloader.Config {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.index.known(s.kind, s.namespace)
}

// asSeen reports whether c is as the last look, or the last change, says.
func (d *Dispatcher) asSeen(c reloader.Config, meta live.Meta, there bool) bool {
	f, looked, latest := d.recall(c)
	if !there {
		return looked && f.absent
	}
	if looked {
		return !f.absent && f.version().is(meta)
	}
	return latest.Change.Present() && versionIn(latest.Change).is(meta)
}

// sweepConfig looks at c. If that fails, it is tried again soon.
func (d *Dispatcher) sweepConfig(ctx context.Context, c reloader.Config) {
	_, _, err := d.look(ctx, c, nil, false)
	d.covered.look(scopeOf(c), err == nil)
	if err != nil {
		d.Logger.Warn("sweep could not look at a config", "config", c.String(), "error", err)
		if fateOf(err) == fateAgain {
			d.lookQ.AddRateLimited(c)
		}
	}
}

// lookAtAgain looks at a config at which a sweep could not, with growing pauses, until it can. One that may not be read waits for its turn in
// the next sweep, and so does one that the API server itself cannot read.
func (d *Dispatcher) lookAtAgain(ctx context.Context, c reloader.Config) time.Duration {
	d.mu.Lock()
	needed := d.needed(c)
	d.mu.Unlock()
	if !needed {
		return 0
	}
	_, _, err := d.look(ctx, c, nil, false)
	d.covered.look(scopeOf(c), err == nil)
	broken := apierrors.IsInternalError(err) && d.lookQ.NumRequeues(c) >= maxBroken
	if err == nil || broken || fateOf(err) != fateAgain {
		return 0
	}
	return again
}
