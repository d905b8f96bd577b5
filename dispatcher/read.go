package dispatcher

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/dispatcher/fleet"
	"github.com/reroll-dev/reroll/dispatcher/metrics"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/live"
)

// Content is read, fingerprinted and forgotten in this file alone.

// read looks at the live config: at its metadata first, and at its content only if some workload needs that. If a hint reports a write
// since the last look, the content is read at once. whole asks for the content with its marks in any case.
func (d *looker) read(ctx context.Context, c reloader.Config, hints []reloader.Hint, whole bool) (fact, error) {
	e := d.lock().configs.of(c)
	known, last := e.now, e.last(d.Cluster, c)
	d.unlock()
	if !known.content() || !written(known, c, hints) || d.forNobody(c, known.Meta) {
		f, err := d.readMeta(ctx, c, len(hints) > 0)
		switch {
		case err != nil || f.absent:
			return d.lastSaid(c, known, f), err
		case d.forNobody(c, f.Meta):
			f.unread, f.hidden = true, true
			return f, nil
		case known.content() && known.is(f.Meta, true) && (known.marks != nil || !whole):
			f.digest, f.older, f.marks = known.digest, known.older, known.marks
			return f, nil
		case !whole && d.Ring.Knows(last.New.KeyID) && last.Present() && (fact{Meta: live.Meta{UID: last.UID, ResourceVersion: last.ResourceVersion}, seen: last.VerifiedAt}).is(f.Meta, true):
			f.digest = last.New
			return f, nil
		case !whole && !d.needsContent(c, f.Meta):
			f.unread = true
			return f, nil
		}
	}
	f, err := d.readContent(ctx, c)
	return d.lastSaid(c, known, f), err
}

// lastSaid returns f with what an absent config said about itself by the look before, known: that holds for its deletion.
func (d *looker) lastSaid(c reloader.Config, known, f fact) fact {
	if f.absent {
		f.Annotations, f.Labels, f.Unselected = known.Annotations, known.Labels, known.Unselected
		f.hidden = d.forNobody(c, f.Meta)
	}
	return f
}

// needsContent reports whether some workload that depends on c was brought to another write than that of meta, or to none.
func (d *looker) needsContent(c reloader.Config, meta live.Meta) bool {
	b := d.lock()
	defer d.unlock()
	if d.fleet.Lets(c, meta) {
		return true
	}
	for _, t := range b.index.byConfig[c] {
		w, known := t.state.Writes.Find(c)
		if !known || w.Out || w.Version != meta.ResourceVersion || !w.Absent() && !d.Ring.Knows(w.KeyID) || w.Filter != "" || t.decide(c, fact{Meta: meta}).Counts != nil {
			return true
		}
	}
	return false
}

// readMeta reads the metadata of c. The first look at c of a process that starts takes it from a list, if there is one.
func (d *looker) readMeta(ctx context.Context, c reloader.Config, hinted bool) (fact, error) {
	looked := d.lock().configs[c].looked()
	d.unlock()
	if !hinted && !looked && !c.Kind.External() {
		if l := d.starting.Load().list(ctx, d.Configs, scopeOf(c)); l != nil {
			meta, there := l.metas[c]
			return fact{Meta: meta, absent: !there, began: l.at, seen: l.seen}, nil
		}
	}
	began := time.Now()
	meta, err := d.Configs.Meta(ctx, c)
	d.metrics.Read(metrics.Metadata)
	if err != nil && !apierrors.IsNotFound(err) {
		return fact{}, fmt.Errorf("read metadata of %s: %w", c, err)
	}
	return fact{Meta: meta, absent: err != nil, began: began, seen: time.Now()}, nil
}

func (d *looker) readContent(ctx context.Context, c reloader.Config) (fact, error) {
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

func (d *looker) get(ctx context.Context, c reloader.Config) (live.Object, error) {
	obj, err := d.Configs.Get(ctx, c)
	d.metrics.Read(metrics.Content)
	return obj, err
}

// contentOf reads the content of c for a mark of several configs together, which must be that of f.
func (d *looker) contentOf(ctx context.Context, c reloader.Config, f fact) (digest.Content, error) {
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

// A workload can name a config of another namespace, and anyone who writes the workload need not be allowed to see that config. Its metadata says
// whether it is shown to the workload (see dialect.ShareKey). Until it does, the config is absent as far as that workload is concerned: its
// record, its marks and its reloads are those of a workload that names a config which does not exist. If a config is not shown to anyone who
// names it, only its metadata is read, and nothing is recorded of it.

func (d *common) metaOf(c reloader.Config, f fact) dialect.ConfigMeta {
	return dialect.ConfigMeta{
		Config: c, Annotations: f.Annotations, Labels: f.Labels, Unselected: f.Unselected, Followed: c.Cluster == "" && fleet.Allows(f.Meta, d.Cluster),
	}
}

// forNobody reports whether the content of c, which has that metadata, is not to be read: workloads of other namespaces name it, and it is shown
// to none of them, nor to a cluster that follows it. A config that nothing names any more was shown to anyone who asked before.
func (d *looker) forNobody(c reloader.Config, meta live.Meta) bool {
	if d.fleet.Lets(c, meta) {
		return false
	}
	b := d.lock()
	defer d.unlock()
	for _, t := range b.index.byConfig[c] {
		if t.shows(c, fact{Meta: meta}) {
			return false
		}
	}
	return len(b.index.byConfig[c]) > 0
}
