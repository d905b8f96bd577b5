package dispatcher

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// A tool that keeps its memory in a ConfigMap does not need its mark on a workload, so that a workload may come to us without one. What such
// a tool remembers then stands for the mark. It is read only until the first sweep is over: who opts in later is not the tool's any more.

// memory names the state of one dialect in one namespace.
type memory struct {
	dialect, namespace string
}

// judgeAdopted is judge for an edge of which another tool may remember what w itself does not say.
func (d *Dispatcher) judgeAdopted(ctx context.Context, t *tracked, w *workload.Workload, c reloader.Config, f fact, e evidence, proven, known bool) (reloader.Handled, error) {
	rememberer, mark, same, err := d.stateOf(ctx, w, c, f, e)
	switch {
	case err != nil:
		return reloader.Handled{}, err
	case mark == "" || known:
		return d.judge(ctx, t, w, c, f, e, proven, known)
	}
	e.speaker, e.mark, e.marked = rememberer, mark, true
	h, err := d.judge(ctx, t, w, c, f, e, same, false)
	h.Mark = "" // it does not stand on w
	return h, err
}

// stateOf returns the mark that the state of a tool has for c, of which f is known, whose it is, and whether it is that of its content. It is empty
// if w carries a mark, or if nobody who asks for c remembers anything.
func (d *Dispatcher) stateOf(ctx context.Context, w *workload.Workload, c reloader.Config, f fact, e evidence) (dl *dialect.Dialect, mark string, proven bool, err error) {
	asking := d.asking(w, c, f)
	i := slices.IndexFunc(asking, func(dl *dialect.Dialect) bool { return dl.State != nil })
	if i < 0 || e.marked || f.absent || d.ready.Load() || c.Namespace != w.Namespace {
		return nil, "", false, nil
	}
	dl = asking[i]
	marks, err := d.memoryOf(ctx, dl, c.Namespace)
	if err != nil {
		return nil, "", false, err
	}
	if mark = marks[dl.State.Key(c)]; mark == "" {
		return nil, "", false, nil
	}
	if f, _, err = d.seen(ctx, c, true); err != nil {
		return nil, "", false, err
	}
	return dl, mark, !f.absent && slices.Contains(dl.Of(*f.marks), mark), nil
}

// memoryOf reads the state of a dialect in a namespace, once. Who may not read it, or finds none, remembers nothing.
func (d *Dispatcher) memoryOf(ctx context.Context, dl *dialect.Dialect, namespace string) (map[string]string, error) {
	at := reloader.Config{Kind: reloader.ConfigMap, Namespace: namespace, Name: dl.State.ConfigMap}
	defer d.looks.lock(at)()
	key := memory{dl.Name, namespace}
	d.mu.Lock()
	known, read := d.memories[key]
	d.mu.Unlock()
	if read {
		return known, nil
	}
	obj, err := d.Configs.Get(ctx, at)
	d.metrics.reads.WithLabelValues("content").Inc()
	switch {
	case apierrors.IsNotFound(err):
	case fateOf(err) == fateNever:
		d.Logger.Warn("the state of another tool cannot be read", "dialect", dl.Name, "config", at.String(), "error", err)
	case err != nil:
		return nil, fmt.Errorf("read state %s: %w", at, err)
	default:
		known = dl.State.Read(obj.Content)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.memories[key] = known
	return known, nil
}
