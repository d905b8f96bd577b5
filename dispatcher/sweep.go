package dispatcher

import (
	"context"
	"slices"
	"sync/atomic"
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

// sweeper is what sweeps keep.
type sweeper struct {
	// suspicion has the reason for a sweep of everything.
	suspicion chan string
	// starting has what is listed once while the process starts; nil otherwise.
	starting atomic.Pointer[map[scope]*list]
	// covered is what sweeps could look at.
	covered *coverage
	// answered says that some config could be decided about. While none can, the trouble is not that of one workload.
	answered atomic.Bool
	// readyAt is when the first sweep had ended.
	readyAt atomic.Int64
}

func newSweeper() *sweeper { return &sweeper{suspicion: make(chan string, 1), covered: newCoverage()} }

// firstSweep looks at every config that a tracked workload depends on, and ends when every dependency is decided about, but for those with trouble of their
// own.
func (d *Dispatcher) firstSweep(ctx context.Context) error {
	for _, ref := range d.refs() {
		d.workloadQ.Add(ref)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !d.settled() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	d.sweeper.readyAt.Store(time.Now().UnixNano())
	return nil
}

// settled reports whether no dependency is left that nobody has decided about.
func (d *Dispatcher) settled() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.index.byRef {
		if t.relist && len(t.plan.Patterns) > 0 && (t.listTries < maxTries || !d.sweeper.answered.Load()) {
			return false
		}
		for _, e := range t.edges {
			if e.open && !e.behind && (e.tries < maxTries || !d.sweeper.answered.Load()) {
				return false
			}
		}
	}
	return true
}

// readyAt returns when the first sweep had ended; a time to come until then.
func (d *Dispatcher) readyAt() time.Time {
	if at := d.sweeper.readyAt.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Now().Add(time.Hour)
}

// Suspect has every config looked at now, because hints may have been lost.
func (d *Dispatcher) Suspect(reason string) {
	select {
	case d.sweeper.suspicion <- reason:
	default: // one full sweep is due anyway
	}
}

// keepSweeping looks at every config that some workload depends on, once in each interval and evenly spread over it, until ctx ends.
// A suspicion makes it look at all of them at once.
func (d *Dispatcher) keepSweeping(ctx context.Context) {
	if d.SweepInterval <= 0 {
		return
	}
	d.metrics.Swept(time.Now()) // the sweep at the start has looked at all
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
		d.metrics.SweepTook(time.Since(began))
		d.expandPatterns()
		if turns >= sweepGetFactor && d.sweeper.covered.whole() {
			d.metrics.Swept(time.Now())
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
	d.sweeper.covered.begin(scopes)
	p := tempo{round: round, step: d.SweepInterval / time.Duration(max(1, len(scopes)))}
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

// tempo is how a scope is swept: in which round, how long it may take, and whether there is no time for that.
type tempo struct {
	round int
	step  time.Duration
	hurry bool
}

// turn reports whether it is the turn of c, which has to be read to be looked at: each has one in sweepGetFactor rounds.
func (p tempo) turn(c reloader.Config) bool {
	return p.hurry || hashOf(c.String())%sweepGetFactor == uint32(p.round%sweepGetFactor)
}

// pauseSweep waits, and reports whether somebody suspects a gap.
func (d *Dispatcher) pauseSweep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case reason := <-d.sweeper.suspicion:
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
func (d *Dispatcher) sweepScope(ctx context.Context, s scope, p tempo) looked {
	switch err := d.sweepListed(ctx, s); {
	case err == nil:
		return lookedAtAll
	case !apierrors.IsForbidden(err):
		d.Logger.Warn("sweep could not list configs", "kind", s.kind, "namespace", s.namespace, "error", err)
		d.scopeQ.AddRateLimited(s)
		return lookedAtAll
	}
	missed := d.sweeper.covered.missed(s)
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
	began := time.Now()
	listed, err := d.Configs.List(ctx, s.kind, s.namespace)
	if !apierrors.IsForbidden(err) {
		d.sweeper.covered.list(s, err == nil)
	}
	if err != nil {
		return err
	}
	for _, c := range d.knownIn(s) {
		if ctx.Err() != nil {
			return nil
		}
		if meta, there := listed[c]; !d.asSeen(c, meta, there, began) {
			d.sweepConfig(ctx, c)
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
	return d.index.known(s)
}

// asSeen reports whether c is as the last look found it, which then counts as one that began with the list.
func (d *Dispatcher) asSeen(c reloader.Config, meta live.Meta, there bool, began time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.configs[c]
	if !e.looked() || e.now.absent == there || there && !e.now.is(meta) {
		return false
	}
	if e.now.began.Before(began) && c.Kind != reloader.SecretProviderClass {
		e.now.began = began
	}
	return true
}

// sweepConfig looks at c. If that fails, it is tried again soon.
func (d *Dispatcher) sweepConfig(ctx context.Context, c reloader.Config) {
	_, err := d.look(ctx, c, nil)
	d.sweeper.covered.look(scopeOf(c), err == nil)
	if err == nil {
		return
	}
	d.Logger.Warn("sweep could not look at a config", "config", c.String(), "error", err)
	if fateOf(err) == fateAgain {
		d.mu.Lock()
		d.intake.of(c).due = true
		d.mu.Unlock()
		d.configQ.AddRateLimited(c)
	}
}
