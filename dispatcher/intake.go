package dispatcher

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/dispatcher/metrics"
	"github.com/reroll-dev/reroll/reloader"
)

const (
	// lookAgain is when to look a second time at a config whose writer was told that the outcome is unknown: the API server may
	// commit the write after it has answered, but no later than its request time-out.
	lookAgain = time.Minute
	// retryRefused is when a config is looked at again that the API server refused to show.
	retryRefused = time.Minute
	// maxHints is how many hints, the newest ones, are kept of a config that cannot be looked at: they say who may have changed it.
	maxHints = 16
)

// intake has what waits for a look. Dispatcher.mu guards it.
type intake struct {
	letters map[reloader.Config]*letters
	// looking has the configs that are being looked at because of hints.
	looking map[reloader.Config]struct{}
}

// letters are the hints about one config that no look has answered.
type letters struct {
	deliveries []Delivery
	// hints are those without a delivery: they came before the stream had them, or after a look that failed.
	hints []reloader.Hint
	// due says that the config is to be looked at although every hint was answered.
	due bool
}

func newIntake() intake {
	return intake{letters: map[reloader.Config]*letters{}, looking: map[reloader.Config]struct{}{}}
}

func (i intake) of(c reloader.Config) *letters {
	if i.letters[c] == nil {
		i.letters[c] = &letters{}
	}
	return i.letters[c]
}

// all returns every hint.
func (l *letters) all() []reloader.Hint {
	all := slices.Clone(l.hints)
	for _, del := range l.deliveries {
		all = append(all, del.Hint())
	}
	return all
}

// Handle takes a delivery. It returns at once; the delivery is acknowledged when its config was looked at, or waits for a look in this process: the next
// start looks at all configs.
func (d *Dispatcher) Handle(del Delivery) {
	c := del.Hint().Config
	d.mu.Lock()
	l := d.intake.of(c)
	l.deliveries = append(l.deliveries, del)
	d.mu.Unlock()
	d.configQ.Add(c)
}

// Overhear has the configs of hints looked at that are still being stored. They come once more by the stream, and are answered by then.
func (d *Dispatcher) Overhear(hints []reloader.Hint) {
	if !d.ready.Load() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range hints {
		if d.index.dependents(h.Config); h.Config.Name == "" || !d.needed(h.Config) {
			continue
		}
		l := d.intake.of(h.Config)
		l.keep([]reloader.Hint{h})
		d.configQ.Add(h.Config)
	}
}

func (l *letters) keep(hints []reloader.Hint) {
	l.hints = append(l.hints, hints...)
	l.hints = l.hints[max(0, len(l.hints)-maxHints):]
}

// verify answers every hint about c by one look at it.
func (d *Dispatcher) verify(ctx context.Context, c reloader.Config) time.Duration {
	d.mu.Lock()
	l := d.intake.letters[c]
	if l == nil {
		l = &letters{due: true}
	}
	delete(d.intake.letters, c)
	hints := l.all()
	targets := d.targets(c, hints)
	if len(targets) == 1 && !l.due {
		if hints = d.configs[targets[0]].fresh(hints); len(hints) == 0 {
			targets = nil
		}
	}
	d.intake.looking[c] = struct{}{}
	d.mu.Unlock()

	var errs []error
	for _, target := range targets {
		_, err := d.look(ctx, target, hints)
		d.sweeper.covered.look(scopeOf(target), err == nil)
		errs = append(errs, err)
	}
	d.fleet.Touched(c)
	err := errors.Join(errs...)
	d.mu.Lock()
	delete(d.intake.looking, c)
	if err != nil {
		again := d.intake.of(c)
		again.due = true
		again.keep(hints)
	} else if wait := unsureFor(hints, time.Now()); wait > 0 && len(targets) > 0 {
		d.intake.of(c).due = true
		d.configQ.AddAfter(c, wait)
	}
	d.mu.Unlock()
	d.acknowledge(l.deliveries, targets, err)
	switch {
	case err == nil:
		return 0
	case apierrors.IsForbidden(err):
		return retryRefused
	}
	d.Logger.Warn("a config could not be looked at", "config", c.String(), "error", err)
	return again
}

func (d *Dispatcher) acknowledge(deliveries []Delivery, targets []reloader.Config, err error) {
	result := metrics.Verified
	switch {
	case err != nil:
		result = metrics.Kept
	case len(targets) == 0:
		result = metrics.Unneeded
	}
	for _, del := range deliveries {
		del.Ack()
		d.metrics.Hint(result)
	}
}

// targets returns the configs to look at for hints about c. The caller holds mu.
func (d *Dispatcher) targets(c reloader.Config, hints []reloader.Hint) []reloader.Config {
	if c.Name != "" {
		if d.index.dependents(c); !d.needed(c) {
			return nil
		}
		d.entry(c)
		return []reloader.Config{c}
	}
	d.expandNear(c)
	known := append(d.index.known(scopeOf(c)), d.exportedIn(scopeOf(c))...)
	creations := len(hints) > 0 && !slices.ContainsFunc(hints, func(h reloader.Hint) bool { return !h.Creates() })
	if creations { // of generated names
		known = slices.DeleteFunc(known, func(c reloader.Config) bool {
			e := d.configs[c]
			return e != nil && e.looked() && !e.now.absent
		})
	}
	for _, k := range known {
		d.entry(k)
	}
	return known
}

// unsureFor returns for how long a request behind hints may still be carried out, although it was answered; 0 if none may.
func unsureFor(hints []reloader.Hint, now time.Time) (wait time.Duration) {
	for _, h := range hints {
		if h.OutcomeUnknown() {
			wait = max(wait, min(lookAgain, h.Received.Add(lookAgain).Sub(now)))
		}
	}
	return wait
}

// unanswered reports whether a look at c is due or under way because of hints. The caller holds mu.
func (d *Dispatcher) unanswered(c reloader.Config) bool {
	_, looking := d.intake.looking[c]
	return looking || d.intake.letters[c] != nil
}
