package dispatcher

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/strategy"
)

const (
	// lookAgain is when to look a second time at a config whose writer was told that the outcome is unknown: the API server may
	// commit the write after it has answered, but no later than its request time-out.
	lookAgain = time.Minute
	// maxUnsure is how many hints wait for that in the stream, a part of those that it lends.
	maxUnsure = 5_000
	// retryHint is when a hint that could not be verified comes back, and retryRefused if the API server refused to show the config.
	retryHint    = 2 * time.Second
	retryRefused = time.Minute
)

// Handle takes a delivery. It returns at once; the delivery is acknowledged when its hint has become a change or nothing.
func (d *Dispatcher) Handle(del Delivery) {
	c := del.Hint().Config
	d.mu.Lock()
	d.parked[c] = append(d.parked[c], del)
	d.mu.Unlock()
	d.verifyQ.Add(c)
}

// verify answers every delivery that waits for c by one look at it.
func (d *Dispatcher) verify(ctx context.Context, c reloader.Config) time.Duration {
	d.mu.Lock()
	q := d.ask(c, time.Now())
	if q.idle {
		d.mu.Unlock()
		return d.acknowledge(c, q.answered, true)
	}
	d.verifying[c] = struct{}{}
	hints := q.hints()
	targets := d.targets(c, hints)
	d.mu.Unlock()

	var errs []error
	for _, target := range targets {
		_, _, err := d.look(ctx, target, hints, false)
		errs = append(errs, err)
	}
	d.mu.Lock()
	d.tellFollowers(c) // who may follow may have changed, and not the content
	delete(d.verifying, c)
	err := errors.Join(errs...)
	if err == nil {
		delete(d.lookFailures, c)
		d.settleNew(c)
	}
	d.answer(q, err)
	d.mu.Unlock()
	d.acknowledge(c, q.answered, true)
	if err != nil {
		return d.giveBack(c, q, err)
	}
	return d.acknowledge(c, q.open, len(targets) > 0)
}

// targets returns the configs to look at for hints about c. The caller holds mu.
func (d *Dispatcher) targets(c reloader.Config, hints []reloader.Hint) []reloader.Config {
	if c.Name == "" {
		d.expandNear(c)
		known := append(d.index.known(c.Kind, c.Namespace), d.exportedIn(c.Kind, c.Namespace)...)
		if onlyCreations(hints) {
			known = slices.DeleteFunc(known, d.isThere)
		}
		return known
	}
	if d.index.dependents(c); !d.needed(c) {
		return nil
	}
	return []reloader.Config{c}
}

// onlyCreations reports whether hints tell of nothing but configs that were made under generated names.
func onlyCreations(hints []reloader.Hint) bool {
	return len(hints) > 0 && !slices.ContainsFunc(hints, func(h reloader.Hint) bool { return !h.Creates() })
}

// isThere reports whether the last look has found c: then it is not the one that was made since. The caller holds mu.
func (d *Dispatcher) isThere(c reloader.Config) bool {
	f, looked := d.facts[c]
	return looked && !f.absent
}

// settleNew gives a baseline to the edges that a hint has just brought. It comes after the look, which knows more by the hint. The caller
// holds mu.
func (d *Dispatcher) settleNew(c reloader.Config) {
	for _, t := range d.index.byConfig[c] {
		if t.handled[c].How == "" && t.pending[c] == nil {
			d.edgesQ.Add(t.w.Ref())
		}
	}
}

// acknowledge ends the deliveries but those that tell of an unknown outcome, about which another look is due: they come again for it, be it to
// another process.
func (d *Dispatcher) acknowledge(c reloader.Config, deliveries []Delivery, looked bool) time.Duration {
	result := "verified"
	if !looked {
		result = "nobody_depends"
	}
	var wait time.Duration
	for _, del := range deliveries {
		if left := unsureFor(del.Hint(), time.Now()); looked && left > 0 {
			if d.mayWait(left) {
				del.Retry(left)
				d.metrics.hints.WithLabelValues("retried").Inc()
				continue
			}
			wait = max(wait, left)
		}
		del.Ack()
		d.metrics.hints.WithLabelValues(result).Inc()
	}
	if wait > 0 {
		d.mu.Lock()
		d.relook[c] = time.Now().Add(wait)
		d.mu.Unlock()
	}
	return wait
}

// unsureFor returns for how long the request of h may still be carried out, although it was answered; 0 if it was or was not.
func unsureFor(h reloader.Hint, now time.Time) time.Duration {
	if !h.OutcomeUnknown() {
		return 0
	}
	return max(0, min(lookAgain, h.Received.Add(lookAgain).Sub(now)))
}

// mayWait reports whether one more hint may come again after that time without being acknowledged until then: the stream lends only so many.
// Of those for which there is no room only this process knows that another look is due.
func (d *Dispatcher) mayWait(left time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if len(d.unsure) >= maxUnsure {
		d.unsure = slices.DeleteFunc(d.unsure, func(until time.Time) bool { return !now.Before(until) })
	}
	if len(d.unsure) >= maxUnsure {
		return false
	}
	d.unsure = append(d.unsure, now.Add(left))
	return true
}

// giveBack has the question asked again: after the first failures by the stream, and from then on by our own queue, since a hint that is not
// acknowledged keeps its place in the stream, and that of all that come after it. A process that ends meanwhile looks at its configs at the
// next start.
func (d *Dispatcher) giveBack(c reloader.Config, q question, err error) time.Duration {
	wait := retryHint
	if apierrors.IsForbidden(err) {
		wait = retryRefused
	}
	d.Logger.Warn("config could not be verified", "config", c.String(), "retryAfter", wait, "error", err)
	if refusal := apierrors.APIStatus(nil); errors.As(err, &refusal) && d.keepQuestion(c, q) { // what cannot be stored is no refusal
		for _, del := range q.open {
			del.Ack()
			d.metrics.hints.WithLabelValues("kept").Inc()
		}
		if apierrors.IsForbidden(err) {
			return wait
		}
		return again
	}
	for _, del := range q.open {
		del.Retry(wait)
		d.metrics.hints.WithLabelValues("retried").Inc()
	}
	if q.second {
		return wait
	}
	return 0
}

const (
	// maxUnanswered is how often in a row a look may fail for which the stream lends its hints again.
	maxUnanswered = 3
	// maxKeptHints is how many hints, the newest ones, are kept of a config that cannot be looked at: they say who may have changed it.
	maxKeptHints = 16
)

// keepQuestion takes note that a look at c has failed, and reports whether that was often enough to keep its hints here.
func (d *Dispatcher) keepQuestion(c reloader.Config, q question) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lookFailures[c]++
	if d.lookFailures[c] < maxUnanswered {
		return false
	}
	hints := append(q.hints(), d.overheard[c]...)
	d.overheard[c] = hints[max(0, len(hints)-maxKeptHints):]
	d.relook[c] = time.Now()
	return true
}

// compare says what f is, next to the last change of c: nothing new, or a change.
func (d *Dispatcher) compare(c reloader.Config, f fact, last reloader.StoredChange, known bool, hints []reloader.Hint) (reloader.Change, bool) {
	old, now := last.Change, f.digest
	hints = telling(hints, old, f.Meta)
	if !old.New.Comparable(now) && !f.older.IsZero() {
		now = f.older
	}
	change := reloader.Change{
		Cluster: d.Cluster, Config: c, UID: f.UID, ResourceVersion: f.ResourceVersion,
		Old: old.New, New: f.digest, Source: reloader.SourceSweep, VerifiedAt: f.seen,
	}
	switch {
	case f.absent && (!known || old.Type == reloader.ChangeDeleted):
		return change, false
	case f.absent:
		change.Type, change.New = reloader.ChangeDeleted, old.New
		change.UID, change.ResourceVersion = old.UID, old.ResourceVersion
	case !known && len(hints) > 0 && newestHint(hints).Creates():
		change.Type = reloader.ChangeCreated
	case !known && len(hints) > 0 && !f.DataWritten.Before(newestHint(hints).Time.Truncate(time.Second)):
		// Nobody knows the old content, but somebody wrote data when the hint says so, or perhaps a label of which they own the data, too.
		change.Type, change.Unproven = reloader.ChangeUpdated, !f.DataAlone
	case !known || !old.New.Comparable(now):
		change.Type, change.Source, change.Old = reloader.ChangeBaseline, reloader.SourceBaseline, reloader.Digest{}
	case !old.New.Equal(now):
		change.Type = reloader.ChangeUpdated
	case old.Type == reloader.ChangeDeleted:
		change.Type = reloader.ChangeCreated
	case !now.Equal(f.digest):
		// The same content under another key.
		change.Type, change.Source = reloader.ChangeBaseline, reloader.SourceBaseline
	default:
		return change, false
	}
	if !old.Lacks(reloader.PartKeys) {
		change.Keys = digest.Diff(change.Old, now)
	}
	if hints = d.unheard(c, hints); len(hints) > 0 {
		newest := newestHint(hints)
		change.Source, change.RequestedAt, change.ReceivedAt = newest.Source, newest.Time, newest.Received
		change.Candidates = candidates(hints, untimed(change.Keys), f.Meta)
	}
	change.ID = reloader.ChangeID(change)
	return change, true
}

// spread makes a new change known to every workload that depends on its config.
func (d *Dispatcher) spread(s reloader.StoredChange) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tellFollowers(s.Change.Config)
	for _, t := range d.index.dependents(s.Change.Config) {
		d.confront(t, s.Change)
		d.retold(t, s.Change.Config)
	}
}

// confront compares what t was brought to with a change of one of its configs. The caller holds mu.
func (d *Dispatcher) confront(t *tracked, change reloader.Change) {
	c := change.Config
	if !d.shows(t.w, c, d.facts[c]) {
		return
	}
	handled := t.handled[c]
	if sum, dried := t.dried[c]; dried && sum != change.New.Sum {
		delete(t.dried, c) // what a dry run has told of went by
	}
	switch {
	case rekeyed(handled, change):
		handled.KeyID, handled.Sum = change.New.KeyID, change.New.Sum
		t.handled[c] = handled
		d.settleQ.Add(t.w.Ref())
	case overtaken(handled, change), leftAlone(handled, change):
		d.addPending(t, change, true)
	case follows(handled, change):
		d.addPending(t, change, false)
	case handled.How == "" && d.appeared(t, change):
		t.handled[c] = reloader.Handled{How: reloader.ReasonBaseline, At: change.VerifiedAt, Brought: d.broughtOf(t.w, c)} // it was absent
		d.addPending(t, change, false)
	case handled.How == "" || !sumsComparable(handled, change):
		d.unsettle(t, c)
	case change.Type == reloader.ChangeDeleted && handled.Sum != "" && d.onDelete(t.w, c, d.facts[c]):
		d.addPending(t, change, false)
	case change.Type == reloader.ChangeDeleted || change.New.IsZero():
		// Absence is no change unless somebody asked for it.
	case handled.Sum == "" && d.onCreate(t.w, c):
		d.addPending(t, change, false)
	case handled.Sum == "" && (change.Type != reloader.ChangeCreated || handled.Mark != strategy.DeletedValue && (handled.Mark != "" || requires(t.w, c))):
		// The config was absent when the workload was first seen, and may have been more than created since.
		d.unsettle(t, c)
	case handled.Sum == "":
		// The config was absent when the workload was first seen. Its pods could not start without it, or did not want it.
		t.handled[c] = reloader.Handled{
			KeyID: change.New.KeyID, Sum: change.New.Sum, How: reloader.ReasonBaseline, At: change.VerifiedAt, Mark: handled.Mark, Brought: d.broughtOf(t.w, c),
		}
		d.settleQ.Add(t.w.Ref())
	case handled.Sum != change.New.Sum || t.pending[c] != nil || cameBack(handled, change) || t.away[c]:
		d.addPending(t, change, false)
	}
}

// cameBack reports whether c brought the content that h says back, and nobody has looked yet at what was started before it did: whoever was
// to see c go away may have ended.
func cameBack(h reloader.Handled, c reloader.Change) bool {
	return c.Type == reloader.ChangeUpdated && h.Sum == c.New.Sum && h.Sum != c.Old.Sum && h.KeyID == c.Old.KeyID && h.At.Before(c.VerifiedAt)
}

// appeared reports whether t is to be rolled because change made a config that none of its edges could stand for until now: a pattern of
// t matches it, and t was there before. The caller holds mu.
func (d *Dispatcher) appeared(t *tracked, change reloader.Change) bool {
	return t.recorded && change.Type == reloader.ChangeCreated && d.onCreate(t.w, change.Config) &&
		!slices.Contains(t.interest.Names, change.Config) && !change.RequestedAt.Before(t.w.CreationTimestamp.Time)
}

// comesAndGoes reports whether the creation and deletion of c can be changes. The content of a SecretProviderClass lies elsewhere,
// and goes on without it.
func comesAndGoes(c reloader.Config) bool { return c.Kind != reloader.SecretProviderClass }

// unsettle has it found out again to which content t was brought. The caller holds mu.
func (d *Dispatcher) unsettle(t *tracked, c reloader.Config) {
	if t.handled[c].How != "" {
		t.doubted[c] = struct{}{}
	}
	delete(t.handled, c)
	t.unsettled = true
	d.edgesQ.Add(t.w.Ref())
}

// follows reports whether c leads on from the content that h says, be it under another key.
func follows(h reloader.Handled, c reloader.Change) bool {
	return c.Type == reloader.ChangeUpdated && h.Sum != "" && h.KeyID == c.Old.KeyID && h.Sum == c.Old.Sum
}

// rekeyed reports whether c only says under another key what h says.
func rekeyed(h reloader.Handled, c reloader.Change) bool {
	return c.Type == reloader.ChangeBaseline && h.Sum != "" && h.KeyID == c.Old.KeyID && h.Sum == c.Old.Sum
}

// overtaken reports whether c says under another key what came after the content that h says.
func overtaken(h reloader.Handled, c reloader.Change) bool {
	return c.Type == reloader.ChangeBaseline && h.Sum != "" && h.KeyID == c.Old.KeyID && h.Sum != c.Old.Sum
}

// leftAlone reports whether c, a change of a config of another cluster, came after the key of the content that h says was replaced. Copies take
// the place of each other, so that what was told between the two is not known here.
func leftAlone(h reloader.Handled, c reloader.Change) bool {
	return c.Config.Cluster != "" && c.Type == reloader.ChangeUpdated && h.Sum != "" && !c.Old.IsZero() && h.KeyID != c.New.KeyID && !follows(h, c)
}

func sumsComparable(h reloader.Handled, c reloader.Change) bool {
	return h.Sum == "" || c.New.IsZero() || h.KeyID == c.New.KeyID
}
