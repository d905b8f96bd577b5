package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/live"
)

// Configs reads configs from the API server, never from a cache: what was written just before the workload must be seen. Errors are those
// of the Kubernetes API.
type Configs interface {
	Get(ctx context.Context, c reloader.Config) (live.Object, error)
}

// see reads the configs of a draft. Those that cannot be read are missing in what it returns, and named in the error. What it returns may be
// used until done is called.
func (h *Handler) see(ctx context.Context, d *Draft) (seen map[reloader.Config]Seen, done func(), err error) {
	configs := d.Needs
	if len(configs) > maxConfigs {
		return nil, func() {}, fmt.Errorf("the workload has to do with %d configs, more than %d", len(configs), maxConfigs)
	}
	var (
		mu   sync.Mutex
		all  sync.WaitGroup
		kept int64
		errs []error
	)
	seen = make(map[reloader.Config]Seen, len(configs))
	turns := make(chan struct{}, readsAtOnce)
	for _, c := range configs {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			s, size, err := h.look(ctx, d, c)
			mu.Lock()
			defer mu.Unlock()
			kept += size
			switch {
			case err != nil:
				errs = append(errs, fmt.Errorf("read %s: %w", c, err))
			case !s.Unproven:
				seen[c] = s
			}
		})
	}
	all.Wait()
	return seen, func() { h.kept.Release(kept) }, errors.Join(errs...)
}

var errTooMuch = errors.New("the contents that are read at a time are too large together")

// look reads one config, and returns how many bytes of content are kept of it: none, unless a mark is made of the contents of several configs.
func (h *Handler) look(ctx context.Context, d *Draft, c reloader.Config) (Seen, int64, error) {
	if err := h.reads.Acquire(ctx, 1); err != nil {
		return Seen{}, 0, err
	}
	defer h.reads.Release(1)
	obj, err := h.options.Configs.Get(ctx, c)
	if apierrors.IsNotFound(err) {
		return Seen{Absent: true}, 0, nil
	}
	if err != nil {
		return Seen{}, 0, err
	}
	s := d.rules.seen(obj)
	if !d.readsContent() {
		return s, 0, nil
	}
	size := obj.Content.Size()
	if !h.kept.TryAcquire(size) {
		return Seen{}, 0, errTooMuch
	}
	s.Content = obj.Content
	return s, size, nil
}

// seen returns what a config says, without its content.
func (r Rules) seen(obj live.Object) Seen {
	now, older := r.Ring.Digest(obj.Content), r.Ring.Older(obj.Content)
	marks := r.Dialects.Values(obj.Content, append([]reloader.Digest{now}, older...)...)
	return Seen{Meta: obj.Meta, Digest: now, Marks: marks}
}

// readsContent reports whether a mark of the workload is made of contents of several configs together.
func (d *Draft) readsContent() bool {
	return slices.ContainsFunc(d.plan.Enabled, func(dl *dialect.Dialect) bool { return dl.Joint != nil && dl.Joint.Reads })
}
