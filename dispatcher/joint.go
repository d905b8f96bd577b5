package dispatcher

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// A joint mark stands for several configs of a workload together, as those of SAP's pod-reloader and of Wave do. Whether it is that of what is
// live can be told only with all of them at hand.

// jointMark remembers what a joint mark was made of, because it costs reads.
type jointMark struct {
	basis  string
	values []string
}

// joint returns the values of a joint mark of w for what is live.
func (d *Dispatcher) joint(ctx context.Context, t *tracked, w *workload.Workload, dl *dialect.Dialect) ([]string, error) {
	interest := d.planOf(w).Only(dl)
	parts := make(map[reloader.Config]dialect.Part, len(interest.Names))
	basis := []string{string(w.UID), w.ResourceVersion}
	for _, c := range interest.Names {
		f, err := d.part(ctx, w, c)
		if err != nil {
			return nil, err
		}
		if !f.absent {
			parts[c] = dialect.Part{UID: f.UID, ResourceVersion: f.ResourceVersion, Sum: f.digest.Sum, KeyID: f.digest.KeyID, Keys: f.digest.Keys}
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
	values := dl.Joint.Values(w, parts)
	older, err := d.partsOfMark(ctx, w, dl, parts)
	if err != nil {
		return nil, err
	}
	if older != nil {
		values = append(values, dl.Joint.Values(w, older)...)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	t.joint[dl.Name] = jointMark{now, values}
	return values, nil
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
		p.Sum, p.KeyID, p.Keys, read = under.Sum, under.KeyID, under.Keys, true
		older[c] = p
	}
	if !read {
		return nil, nil
	}
	return older, nil
}

// keyOfMark returns the ID of the digest key under which the mark of w was made that a dialect has for parts; empty if it tells none.
func (d *Dispatcher) keyOfMark(w *workload.Workload, dl *dialect.Dialect, parts map[reloader.Config]dialect.Part) string {
	for c := range parts {
		mark, _ := d.carried(w, c, dl)
		return dialect.KeyOf(mark) // it has one place for all of them
	}
	return ""
}

// part returns what w may know about one of the configs of a joint mark, as new as a roll needs it.
func (d *Dispatcher) part(ctx context.Context, w *workload.Workload, c reloader.Config) (fact, error) {
	if !d.ready.Load() {
		f, _, err := d.seenBy(ctx, w, c, false)
		return f, err
	}
	f, _, err := d.current(ctx, c, true)
	if err != nil {
		if d.concealed(w, c, err) {
			err = nil
		}
		return fact{absent: true}, err
	}
	return d.shown(w, c, f)
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
