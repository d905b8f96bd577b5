package dispatcher

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/metrics"
	"github.com/reroll-dev/reroll/reloader"
)

const (
	// lookAgain is when to read a config again whose writer got an answer with unknown outcome: the API server may
	// commit the write after it has answered, but no later than its request time-out.
	lookAgain = time.Minute
	// retryRefused is when a config is looked at again that the API server, or the cluster that owns it, refused to show.
	retryRefused = time.Minute
	// maxHints is how many hints, the newest ones, are kept of a config until it is looked at: they say who may have changed it.
	maxHints = 16
)

// intake has the hints that wait for a look.
type intake struct {
	letters map[reloader.Config]*letters
	// looking has the configs that are being looked at because of hints.
	looking map[reloader.Config]bool
}

// letters are the hints about one config that no look has answered, and the deliveries among them. due says that it must be looked at although every
// hint was answered.
type letters struct {
	hints      []reloader.Hint
	deliveries []Delivery
	due        bool
}

func (i *intake) of(c reloader.Config) *letters {
	if i.letters[c] == nil {
		i.letters[c] = &letters{}
	}
	return i.letters[c]
}

// open returns the letters about c, which is being looked at from now on.
func (i *intake) open(c reloader.Config) *letters {
	l := i.letters[c]
	if l == nil {
		l = &letters{due: true}
	}
	delete(i.letters, c)
	i.looking[c] = true
	return l
}

// unanswered reports whether a look at c is due or under way because of hints.
func (i *intake) unanswered(c reloader.Config) bool { return i.looking[c] || i.letters[c] != nil }

func (l *letters) add(hints ...reloader.Hint) {
	l.hints = append(l.hints, hints...)
	l.hints = l.hints[max(0, len(l.hints)-maxHints):]
}

// Handle takes a delivery. It returns at once; the delivery is acknowledged when its config was looked at, or waits for a look in this process: the next
// start looks at all configs.
func (d *Dispatcher) Handle(del Delivery) {
	h := del.Hint()
	l := d.lock().intake.of(h.Config)
	l.add(h)
	l.deliveries = append(l.deliveries, del)
	d.unlock()
	d.configQ.Add(h.Config)
	if h.OutcomeUnknown() {
		d.configQ.AddAfter(h.Config, lookAgain)
	}
}

// Overhear has the configs of hints looked at that are still being stored. They come once more by the stream, and are answered by then.
func (d *Dispatcher) Overhear(hints []reloader.Hint) {
	if d.ready.Load() == nil {
		return
	}
	b := d.lock()
	defer d.unlock()
	for _, h := range hints {
		if h.Config.Name != "" && len(b.targets(h.Config, nil)) > 0 {
			b.intake.of(h.Config).add(h)
			d.configQ.Add(h.Config)
		}
	}
}

// verify answers every hint about c by one look at it.
func (d *Dispatcher) verify(ctx context.Context, c reloader.Config) (time.Duration, error) {
	b := d.lock()
	l := b.intake.open(c)
	hints := l.hints
	targets := b.targets(c, hints)
	if len(targets) == 1 && !l.due {
		if hints = b.configs[targets[0]].heard.Fresh(hints); len(hints) == 0 {
			targets = nil
		}
	}
	d.unlock()

	var errs []error
	for _, target := range targets {
		_, err := d.look(ctx, target, hints)
		errs = append(errs, err)
	}
	d.fleet.Touched(c)
	err := errors.Join(errs...)
	b = d.lock()
	delete(b.intake.looking, c)
	if err != nil {
		again := b.intake.of(c)
		again.due = true
		again.add(hints...)
	}
	d.unlock()
	d.acknowledge(l.deliveries, targets, err)
	if fateOf(err) == fateNever {
		return retryRefused, nil
	}
	return 0, err
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

// targets returns the configs to look at for hints about c.
func (b *board) targets(c reloader.Config, hints []reloader.Hint) []reloader.Config {
	if c.Name != "" {
		if b.index.dependents(c); !b.needed(c) {
			return nil
		}
		b.configs.of(c)
		return []reloader.Config{c}
	}
	b.expandNear(c)
	known := b.index.known(scopeOf(c))
	for _, exported := range b.fleet.ExportsIn(c.Kind, c.Namespace) {
		if len(b.index.byConfig[exported]) == 0 {
			known = append(known, exported)
		}
	}
	creations := len(hints) > 0 && !slices.ContainsFunc(hints, func(h reloader.Hint) bool { return !h.Creates() })
	return slices.DeleteFunc(known, func(k reloader.Config) bool {
		e := b.configs.of(k)
		return creations && e.looked() && !e.now.absent // of generated names
	})
}

// needed reports whether c must be looked at: a workload depends on it, or another cluster may follow it.
func (b *board) needed(c reloader.Config) bool {
	return len(b.index.byConfig[c]) > 0 || b.fleet.Exports(c)
}

// trim forgets configs that are no longer needed, and the room of what only a start needs: a map does not shrink by itself.
func (b *board) trim() {
	b.states.texts, b.records.earlier, b.intake.letters = fitted(b.states.texts), fitted(b.records.earlier), fitted(b.intake.letters)
	for c, e := range b.configs {
		if !b.needed(c) && len(e.unstored) == 0 && !b.intake.unanswered(c) {
			delete(b.configs, c)
		}
	}
}

// fitted returns m, or a new map if it is empty.
func fitted[K comparable, V any](m map[K]V) map[K]V {
	if len(m) > 0 {
		return m
	}
	return map[K]V{}
}
