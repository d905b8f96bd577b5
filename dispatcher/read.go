package dispatcher

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/metrics"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/live"
)

// Content is read, fingerprinted and forgotten in this file alone.

// read looks at the live config: at its metadata first, and at its content only if some workload needs that. If a hint tells of a write
// since the last look, the content is read at once. whole asks for the content with its marks in any case.
func (d *Dispatcher) read(ctx context.Context, c reloader.Config, hints []reloader.Hint, whole bool) (fact, error) {
	d.mu.Lock()
	e := d.entry(c)
	known, last := e.now, e.last.Change
	d.mu.Unlock()
	var f fact
	var err error
	if known.content() && written(known, c, hints) && !d.forNobody(c, known.Meta) {
		if f, err = d.readContent(ctx, c); err != nil || !f.absent {
			return f, err
		}
	} else {
		f, err = d.readMeta(ctx, c, len(hints) > 0)
	}
	if err != nil || f.absent {
		return d.lastSaid(c, known, f), err
	}
	if d.forNobody(c, f.Meta) {
		f.unread, f.hidden = true, true
		return f, nil
	}
	switch {
	case known.content() && known.is(f.Meta) && (known.marks != nil || !whole):
		f.digest, f.older, f.marks = known.digest, known.older, known.marks
		return f, nil
	case !whole && d.Ring.Knows(last.New.KeyID) && last.Present() && (fact{Meta: live.Meta{UID: last.UID, ResourceVersion: last.ResourceVersion}, seen: last.VerifiedAt}).is(f.Meta):
		f.digest = last.New
		return f, nil
	case !whole && !d.needsContent(c, f.Meta):
		f.unread = true
		return f, nil
	}
	f, err = d.readContent(ctx, c)
	return d.lastSaid(c, known, f), err
}

// lastSaid returns f with what an absent config said about itself by the look before, known: that holds for its deletion.
func (d *Dispatcher) lastSaid(c reloader.Config, known, f fact) fact {
	if f.absent {
		f.Annotations, f.Labels, f.Unselected = known.Annotations, known.Labels, known.Unselected
		f.hidden = d.forNobody(c, f.Meta)
	}
	return f
}

// content reports whether f has the digest of a config that is there.
func (f fact) content() bool { return !f.began.IsZero() && !f.absent && !f.unread }

// written reports whether hints tell of a write to c since f was seen last. The clock of the API server may be another one; an error costs
// one read too many, or none too few.
func written(f fact, c reloader.Config, hints []reloader.Hint) bool {
	for _, h := range hints {
		if h.Config == c && h.Time.After(f.began) {
			return true
		}
	}
	return false
}

// needsContent reports whether some workload that depends on c was brought to another write than that of meta, or to none.
func (d *Dispatcher) needsContent(c reloader.Config, meta live.Meta) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fleet.Lets(c, meta) {
		return true
	}
	for _, t := range d.index.byConfig[c] {
		w, known := t.state.Writes[c]
		if !known || w.Out || w.Version != meta.ResourceVersion || !w.Absent() && !d.Ring.Knows(w.KeyID) || w.Filter != "" || t.plan.Decide(d.metaOf(c, fact{Meta: meta})).Counts != nil {
			return true
		}
	}
	return false
}

// readMeta reads the metadata of c. The first look at c of a process that starts takes it from a list, if there is one.
func (d *Dispatcher) readMeta(ctx context.Context, c reloader.Config, hinted bool) (fact, error) {
	meta, began, seen, err := d.listed(ctx, c, hinted)
	if apierrors.IsNotFound(err) {
		return fact{absent: true, began: began, seen: seen}, nil
	}
	if err != nil {
		return fact{}, fmt.Errorf("read metadata of %s: %w", c, err)
	}
	return fact{Meta: meta, began: began, seen: seen}, nil
}

func (d *Dispatcher) listed(ctx context.Context, c reloader.Config, hinted bool) (meta live.Meta, began, seen time.Time, err error) {
	d.mu.Lock()
	looked := d.configs[c].looked()
	d.mu.Unlock()
	if l := d.listOf(ctx, c, hinted || looked); l != nil {
		meta, there := l.metas[c]
		if !there {
			err = apierrors.NewNotFound(schema.GroupResource{Resource: string(c.Kind)}, c.Name)
		}
		return meta, l.at, l.seen, err
	}
	began = time.Now()
	meta, err = d.Configs.Meta(ctx, c)
	d.metrics.Read(metrics.Metadata)
	return meta, began, time.Now(), err
}

// readContent reads c with its content.
func (d *Dispatcher) readContent(ctx context.Context, c reloader.Config) (fact, error) {
	began := time.Now()
	obj, err := d.get(ctx, c)
	if apierrors.IsNotFound(err) {
		return fact{absent: true, began: began, seen: time.Now()}, nil
	}
	if err != nil {
		return fact{}, fmt.Errorf("read %s: %w", c, err)
	}
	f := fact{Meta: obj.Meta, began: began, seen: time.Now()}
	if d.forNobody(c, f.Meta) { // it is shown no longer
		f.unread, f.hidden = true, true
		return f, nil
	}
	f.digest, f.older = d.Ring.Digest(obj.Content), d.Ring.Older(obj.Content)
	marks := d.Dialects.Values(obj.Content)
	f.marks = &marks
	return f, nil
}

func (d *Dispatcher) get(ctx context.Context, c reloader.Config) (live.Object, error) {
	obj, err := d.Configs.Get(ctx, c)
	d.metrics.Read(metrics.Content)
	return obj, err
}

// contentOf reads the content of c for a mark of several configs together, which is to be that of f.
func (d *Dispatcher) contentOf(ctx context.Context, c reloader.Config, f fact) (digest.Content, error) {
	obj, err := d.get(ctx, c)
	if err != nil && !apierrors.IsNotFound(err) {
		return digest.Content{}, fmt.Errorf("read %s: %w", c, err)
	}
	if now, known := d.Ring.DigestUnder(f.digest.KeyID, obj.Content); err != nil || !known || now.Sum != f.digest.Sum {
		d.configQ.Add(c)
		return digest.Content{}, fmt.Errorf("read %s: its content has just changed", c)
	}
	return obj.Content, nil
}

// current returns a look at c that began after a time and is no older than the debounce window, and whose content was read. whole asks for its marks as
// well.
func (d *Dispatcher) current(ctx context.Context, c reloader.Config, after time.Time, whole bool) (fact, error) {
	if f, ok := d.recent(c, after, whole); ok {
		return f, nil
	}
	defer d.looks.lock(c)()
	if f, ok := d.recent(c, after, whole); ok {
		return f, nil
	}
	return d.lookLocked(ctx, c, nil, whole)
}

// reuseTime is how much older than the debounce window a look may be on which a decision is based.
const reuseTime = time.Second

func (d *Dispatcher) recent(c reloader.Config, after time.Time, whole bool) (fact, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.configs[c]
	if !e.looked() || !e.now.began.After(after) || whole && e.now.content() && e.now.marks == nil {
		return fact{}, false
	}
	return e.now, !d.ready.Load() || time.Since(e.now.began) <= d.Limits.Window+reuseTime
}

// liveOf returns f, a look at c, as t may know it. The caller holds mu.
func (d *Dispatcher) liveOf(t *tracked, c reloader.Config, f fact) applied.Live {
	if !d.shows(t, c, f) || f.absent {
		return applied.Live{Seen: f.seen, Touched: f.touched}
	}
	l := applied.Live{
		Write: applied.Write{Version: f.ResourceVersion}, Unread: f.unread, Unproven: f.Unproven,
		Created: f.Created, DataWritten: f.DataWritten, Touched: f.touched, Seen: f.seen,
	}
	if f.unread {
		return l
	}
	counts := t.plan.Decide(d.metaOf(c, f)).Counts
	l.Write = applied.WriteOf(f.ResourceVersion, f.digest, counts)
	for _, older := range f.older {
		l.Older = append(l.Older, applied.WriteOf(f.ResourceVersion, older, counts))
	}
	return l
}
