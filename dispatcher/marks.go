package dispatcher

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
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
	dl, _ := d.Dialects.Named(t.interest.Dialect)
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
	return d.Dialects.Asking(w, metaOf(c, f))
}

// onCreate reports whether the creation of c is a change for w, and onDelete whether its deletion is. The caller holds mu.
func (d *Dispatcher) onCreate(w *workload.Workload, c reloader.Config) bool {
	return comesAndGoes(c) && (d.ReloadOnCreate || slices.ContainsFunc(d.asking(w, c, d.facts[c]), func(dl *dialect.Dialect) bool { return dl.OnCreate }))
}

func (d *Dispatcher) onDelete(w *workload.Workload, c reloader.Config, f fact) bool {
	return comesAndGoes(c) && (d.ReloadOnDelete || slices.ContainsFunc(d.asking(w, c, f), func(dl *dialect.Dialect) bool {
		return dl.OnDelete || dl.Goes != nil && dl.Goes(w, c)
	}))
}

// seenMarked returns what is known about c and, if w carries a mark for it, the values that prove it to be the mark of that.
func (d *Dispatcher) seenMarked(ctx context.Context, t *tracked, w *workload.Workload, c reloader.Config) (fact, reloader.StoredChange, []string, error) {
	before, _, _ := d.recall(c)
	marked := d.voiced(evidence{}, w, c, before).marked
	f, stored, err := d.seen(ctx, c, marked)
	e := d.voiced(evidence{}, w, c, f)
	if err == nil && e.marked && !marked {
		f, stored, err = d.seen(ctx, c, true) // what the config says about itself lets another dialect speak
		e = d.voiced(e, w, c, f)
	}
	if err != nil || !e.marked {
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
	case f.hashes[dl.Name] == "":
		return nil, nil
	}
	return []string{f.hashes[dl.Name]}, nil
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

// jointMark remembers what a joint mark was made of, because it costs reads.
type jointMark struct {
	basis  string
	values []string
}

// joint returns the values of a joint mark of w for what is live.
func (d *Dispatcher) joint(ctx context.Context, t *tracked, w *workload.Workload, dl *dialect.Dialect) ([]string, error) {
	interest, _ := dl.Interest(w)
	parts := make(map[reloader.Config]dialect.Part, len(interest.Exact))
	var untold []reloader.Config
	basis := []string{string(w.UID), w.ResourceVersion}
	for _, c := range interest.Exact {
		f, err := d.part(ctx, c)
		if err != nil {
			return nil, err
		}
		if !f.absent {
			parts[c] = dialect.Part{UID: f.UID, ResourceVersion: f.ResourceVersion, Sum: f.digest.Sum, KeyID: f.digest.KeyID}
		}
		if !dl.Tells(w, metaOf(c, f)) {
			untold = append(untold, c)
		}
		basis = append(basis, c.String(), parts[c].UID, parts[c].ResourceVersion, parts[c].Sum)
	}
	now := strings.Join(basis, "\n")
	d.mu.Lock()
	known := t.joint[dl.Name]
	d.mu.Unlock()
	if known.basis == now {
		return known.values, nil
	}
	if dl.Joint.Reads {
		if err := d.readParts(ctx, parts); err != nil {
			return nil, err
		}
	}
	values := jointValues(w, dl, parts, untold)
	older, err := d.partsOfMark(ctx, w, dl, parts)
	if err != nil {
		return nil, err
	}
	if older != nil {
		values = append(values, jointValues(w, dl, older, untold)...)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	t.joint[dl.Name] = jointMark{now, values}
	return values, nil
}

// jointValues returns the values of a joint mark of w that is made of parts, but for those that are not to be told.
func jointValues(w *workload.Workload, dl *dialect.Dialect, parts map[reloader.Config]dialect.Part, untold []reloader.Config) []string {
	told := maps.Clone(parts)
	maps.DeleteFunc(told, func(c reloader.Config, _ dialect.Part) bool { return slices.Contains(untold, c) })
	values := dl.Joint.Values(w, told)
	if len(told) < len(parts) {
		values = append(values, dl.Joint.Values(w, parts)...) // the tool itself tells of them all
	}
	return values
}

// partsOfMark returns parts under the digest key that the mark of w tells, if that is another one which can still be used: a key that is rotated
// makes no mark untrue. It returns nil if there is no such key.
func (d *Dispatcher) partsOfMark(ctx context.Context, w *workload.Workload, dl *dialect.Dialect, parts map[reloader.Config]dialect.Part) (map[reloader.Config]dialect.Part, error) {
	keyID := d.keyOfMark(w, dl, parts)
	if !d.Ring.Knows(keyID) {
		return nil, nil
	}
	older, read := maps.Clone(parts), false
	for c, p := range parts {
		if p.KeyID == keyID {
			continue
		}
		content, err := d.contentOf(ctx, c, p)
		if err != nil {
			return nil, err
		}
		under, _ := d.Ring.DigestUnder(keyID, content)
		p.Sum, p.KeyID, read = under.Sum, under.KeyID, true
		older[c] = p
	}
	if !read {
		return nil, nil
	}
	return older, nil
}

// keyOfMark returns the ID of the digest key under which the mark of w was made that a dialect has for parts; empty if it tells none.
func (d *Dispatcher) keyOfMark(w *workload.Workload, dl *dialect.Dialect, parts map[reloader.Config]dialect.Part) string {
	if dl.Joint.KeyOf == nil {
		return ""
	}
	for c := range parts {
		mark, _ := d.carried(w, c, dl)
		return dl.Joint.KeyOf(mark) // it has one place for all of them
	}
	return ""
}

// part returns what is known about one of the configs of a joint mark, as new as a roll needs it.
func (d *Dispatcher) part(ctx context.Context, c reloader.Config) (fact, error) {
	if !d.ready.Load() {
		f, _, err := d.seen(ctx, c, false)
		return f, err
	}
	f, _, err := d.current(ctx, c, true)
	return f, err
}

// readParts reads the contents of parts. If one has changed meanwhile, that is made known, and whoever asked has to ask again.
func (d *Dispatcher) readParts(ctx context.Context, parts map[reloader.Config]dialect.Part) error {
	for c, p := range parts {
		content, err := d.contentOf(ctx, c, p)
		if err != nil {
			return err
		}
		p.Content = content
		parts[c] = p
	}
	return nil
}

// contentOf reads the content of c, which is to be that of p.
func (d *Dispatcher) contentOf(ctx context.Context, c reloader.Config, p dialect.Part) (digest.Content, error) {
	obj, err := d.Configs.Get(ctx, c)
	d.metrics.reads.WithLabelValues("content").Inc()
	if err != nil && !apierrors.IsNotFound(err) {
		return digest.Content{}, fmt.Errorf("read %s: %w", c, err)
	}
	if now, known := d.Ring.DigestUnder(p.KeyID, obj.Content); err != nil || !known || now.Sum != p.Sum {
		_, _, err := d.look(ctx, c, nil, true)
		return digest.Content{}, cmp.Or(err, fmt.Errorf("read %s: its content has just changed", c))
	}
	return obj.Content, nil
}

// unused reports whether only keys have changed, since the content that w was brought to, that do not matter to it.
func (d *Dispatcher) unused(w *workload.Workload, s step, f fact, handled reloader.Handled) bool {
	from := handled.Sum
	for _, change := range s.changes {
		if from == "" || change.Type != reloader.ChangeUpdated || change.Old.Sum != from || len(change.Keys) == 0 {
			return false
		}
		for _, k := range change.Keys {
			if d.Dialects.Counts(w, metaOf(s.config, f), k.Key) {
				return false
			}
		}
		from = change.New.Sum
	}
	return from == f.digest.Sum
}

func metaOf(c reloader.Config, f fact) dialect.ConfigMeta {
	return dialect.ConfigMeta{Config: c, Annotations: f.Annotations, Labels: f.Labels, Unselected: f.Unselected}
}
