package dispatcher

import (
	"context"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// driftTime is how long after a sweep has found a change its hint may still come in without the change counting as missed by the feed.
const driftTime = 5 * time.Minute

// drift is a change that was found although no hint has told of it yet.
type drift struct {
	config reloader.Config
	// change is its ID.
	change string
	found  time.Time
	// written is when the content was written, by the API server's clock; zero if it does not say.
	written time.Time
}

// suspectDrift has it judged later whether a change that no hint has led to was missed by the feed.
func (d *Dispatcher) suspectDrift(change reloader.Change, f fact) {
	if change.Source != reloader.SourceSweep {
		return
	}
	found := drift{change.Config, change.ID, change.VerifiedAt, f.DataWritten}
	d.mu.Lock()
	if d.drifts[found.config] == nil {
		d.drifts[found.config] = map[drift]bool{}
	}
	d.drifts[found.config][found] = false
	d.mu.Unlock()
	d.driftQ.AddAfter(found, driftTime)
}

// tellDrifts takes note of what h, which is about c, tells of. It comes before another hint can take the place of h. The caller holds mu.
func (d *Dispatcher) tellDrifts(c reloader.Config, h reloader.Hint) {
	for found, told := range d.drifts[c] {
		d.drifts[c][found] = told || found.toldBy(h)
	}
}

// toldBy reports whether h may tell of the change. A hint about an earlier write tells nothing of it, nor does one about a later write.
func (found drift) toldBy(h reloader.Hint) bool {
	last := found.found
	if found.written.After(last) {
		last = found.written
	}
	if h.Time.After(last.Add(attributionSlack)) {
		return false
	}
	if found.written.IsZero() {
		return !h.Received.Before(found.found.Add(-driftTime))
	}
	return !h.Time.Before(found.written.Add(-attributionSlack))
}

// judgeDrift counts a change that was found without a hint, and that the feed has not told of in time. A hint may have waited for longer,
// while nobody was there to take it.
func (d *Dispatcher) judgeDrift(ctx context.Context, found drift) time.Duration {
	hint, ok, err := d.Hints.LastHint(ctx, d.Cluster, found.config)
	if err != nil {
		return again
	}
	d.mu.Lock()
	told := d.drifts[found.config][found] || ok && found.toldBy(hint)
	if delete(d.drifts[found.config], found); len(d.drifts[found.config]) == 0 {
		delete(d.drifts, found.config)
	}
	d.mu.Unlock()
	if !told {
		d.metrics.drift.Inc()
		d.Logger.Warn("a change was found by the sweep alone: "+found.cause(), "change", found.change, "config", found.config.String())
	}
	return 0
}

// cause returns why no hint came. A feed that works for ConfigMaps and Secrets may leave out rotations for good: they are about a resource of
// their own, which an audit policy or the filter of a log shipper has to keep, and no canary shows that.
func (found drift) cause() string {
	if found.config.Kind == reloader.SecretProviderClass {
		return "no source reports rotations; audit policy and shipping filters must keep updates of secretproviderclasspodstatuses"
	}
	return "the feed has missed it"
}
