package dispatcher

import (
	"context"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Several dialects may ask for one config of one workload. There is one decision and one patch, which writes the marks of all of them; what
// is on the workload is judged by the mark of one, its speaker.

// placed is a mark value and the strategy that writes it.
type placed struct {
	strategy strategy.Strategy
	value    string
}

// strategyBy returns the strategy by which a dialect marks w; nil stands for one that leaves it to the installation.
func (d *Dispatcher) strategyBy(w *workload.Workload, dl *dialect.Dialect) strategy.Strategy {
	return dl.Writer(d.strategyOf(w))
}

// samePlace reports whether the marks of a strategy for two configs of w have the same place. Those of other clusters have none.
func samePlace(by strategy.Strategy, w *workload.Workload, a, b reloader.Config) bool {
	return by.Shares != nil && a != b && a.Cluster == "" && b.Cluster == "" && by.Shares(w, a, b)
}

// strategyName returns by which strategy t is marked for its first dialect.
func (d *Dispatcher) strategyName(t *tracked) string {
	dl, _ := d.Dialects.Named(t.interest.Dialect())
	return d.strategyBy(t.w, dl).Name
}

// speaker returns the dialect by whose mark w is judged about c: the first that asks and has marked w, or else the first that asks, or
// the one that says why none does; nil if nobody knows anything.
func (d *Dispatcher) speaker(w *workload.Workload, c reloader.Config, f fact) *dialect.Dialect {
	asking := d.asking(w, c, f)
	for _, dl := range asking {
		if _, marked := d.carried(w, c, dl); marked {
			return dl
		}
	}
	if len(asking) > 0 {
		return asking[0]
	}
	dl, _ := d.Dialects.Named(d.decide(w, c, f).Dialect)
	return dl
}

func (d *Dispatcher) asking(w *workload.Workload, c reloader.Config, f fact) []*dialect.Dialect {
	return d.decide(w, c, f).Marks
}

// onCreate reports whether the creation of c is a change for w, and onDelete whether its deletion is. The caller holds mu.
func (d *Dispatcher) onCreate(w *workload.Workload, c reloader.Config) bool {
	return comesAndGoes(c) && (d.ReloadOnCreate || d.decide(w, c, d.facts[c]).Created)
}

func (d *Dispatcher) onDelete(w *workload.Workload, c reloader.Config, f fact) bool {
	return comesAndGoes(c) && (d.ReloadOnDelete || d.decide(w, c, f).Deleted)
}

// seenBy returns what w may know about c by a look of this process: see seen and shown.
func (d *Dispatcher) seenBy(ctx context.Context, w *workload.Workload, c reloader.Config, hashed bool) (fact, reloader.StoredChange, error) {
	f, stored, err := d.seen(ctx, c, hashed)
	if err != nil && d.concealed(w, c, err) {
		now := time.Now()
		return fact{absent: true, unread: true, at: now, seen: now}, reloader.StoredChange{}, nil
	}
	if err != nil {
		return f, stored, err
	}
	if f, err = d.shown(w, c, f); f.unread {
		stored = reloader.StoredChange{}
	}
	return f, stored, err
}

// seenMarked returns what w may know about c and, if w carries a mark for it, the values that prove it to be the mark of that.
func (d *Dispatcher) seenMarked(ctx context.Context, t *tracked, w *workload.Workload, c reloader.Config) (fact, reloader.StoredChange, []string, error) {
	before, _, _ := d.recall(c)
	marked := d.voiced(evidence{}, w, c, before).marked
	f, stored, err := d.seenBy(ctx, w, c, marked)
	e := d.voiced(evidence{}, w, c, f)
	if err == nil && e.marked && !marked {
		f, stored, err = d.seenBy(ctx, w, c, true) // what the config says about itself lets another dialect speak
		e = d.voiced(e, w, c, f)
	}
	if err != nil || !e.marked || f.unread {
		return f, stored, nil, err
	}
	values, err := d.values(ctx, t, w, c, f, e.speaker)
	return f, stored, values, err
}

// values returns the mark that a dialect has for w and the content of c, and then those that prove as well that w was brought to it. It
// returns none if the dialect has no mark for it, as none has for a config of another cluster.
func (d *Dispatcher) values(ctx context.Context, t *tracked, w *workload.Workload, c reloader.Config, f fact, dl *dialect.Dialect) ([]string, error) {
	switch {
	case dl == nil:
		return nil, nil
	case dl.Joint != nil:
		return d.joint(ctx, t, w, dl)
	case f.marks == nil:
		return nil, nil
	}
	return dl.Of(*f.marks), nil
}

// places returns the marks that every dialect which asks w for c has for its content, which are none where somebody's own stands.
func (d *Dispatcher) places(ctx context.Context, t *tracked, w *workload.Workload, c reloader.Config, f fact) ([]placed, error) {
	var found []placed
	for _, dl := range d.asking(w, c, f) {
		s := d.strategyBy(w, dl)
		if s.Taken != nil && s.Taken(w, c) {
			continue
		}
		values, err := d.values(ctx, t, w, c, f, dl)
		if err != nil {
			return nil, err
		}
		if len(values) > 0 && !slices.ContainsFunc(found, func(p placed) bool { return p.strategy.Name == s.Name }) {
			found = append(found, placed{s, values[0]})
		}
	}
	return found, nil
}

// unused reports whether only keys have changed, since the content that w was brought to, that do not matter to it.
func (d *Dispatcher) unused(w *workload.Workload, s step, f fact, handled reloader.Handled) bool {
	why := d.decide(w, s.config, f)
	from := handled.Sum
	for _, change := range s.changes {
		if from == "" || change.Type != reloader.ChangeUpdated || change.Old.Sum != from || len(change.Keys) == 0 {
			return false
		}
		for _, k := range change.Keys {
			if why.Reload && (why.Counts == nil || why.Counts(k.Key)) {
				return false
			}
		}
		from = change.New.Sum
	}
	return from == f.digest.Sum
}

func (d *Dispatcher) metaOf(c reloader.Config, f fact) dialect.ConfigMeta {
	m := dialect.ConfigMeta{Config: c, Annotations: f.Annotations, Labels: f.Labels, Unselected: f.Unselected}
	if c.Cluster == "" && exports(f.Meta, d.Cluster) {
		m.Follows = d.Cluster
	}
	return m
}
