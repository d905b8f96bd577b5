package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/live"
)

// Configs reads configs from the API server, never from a cache: a config that was written just before the workload must be seen. Errors are those
// of the Kubernetes API.
type Configs interface {
	Get(ctx context.Context, c reloader.Config) (live.Object, error)
}

// sight is what a live config says for the workload. The zero sight is that of an absent config.
type sight struct {
	live.Meta
	decision dialect.Decision
	digest   reloader.Digest
	write    applied.Write
	marks    dialect.Values
	// content is kept only for a mark that is made of several contents.
	content digest.Content
}

// see reads the configs of a draft. The error names those that it could not read. The caller calls done when it does not need the contents any more.
func (h *Handler) see(ctx context.Context, d *draft) (done func(), err error) {
	if n := len(d.needs); n > maxConfigs {
		return func() {}, fmt.Errorf("the workload depends on %d configs, more than %d", n, maxConfigs)
	}
	var (
		mu    sync.Mutex
		kept  int64
		errs  []error
		reads errgroup.Group
	)
	reads.SetLimit(readsAtOnce)
	for _, c := range d.needs {
		reads.Go(func() error {
			s, size, err := h.look(ctx, d, c)
			mu.Lock()
			defer mu.Unlock()
			kept += size
			if err != nil {
				errs = append(errs, fmt.Errorf("read %s: %w", c, err))
			} else if !s.Unproven {
				d.seen[c] = s
			}
			return nil
		})
	}
	_ = reads.Wait() // errs has the errors
	return func() { h.memory.Release(kept) }, errors.Join(errs...)
}

var errTooMuch = errors.New("the configs that are read at a time are too large together")

// look reads one config, and returns how many bytes of its content are kept: none, unless a mark is made of several contents.
func (h *Handler) look(ctx context.Context, d *draft, c reloader.Config) (sight, int64, error) {
	obj, err := h.options.Configs.Get(ctx, c)
	switch {
	case apierrors.IsNotFound(err):
		return sight{}, 0, nil
	case err != nil:
		return sight{}, 0, err
	}
	s := sight{Meta: obj.Meta, digest: h.options.Ring.Digest(obj.Content)}
	s.decision = d.plan.Decide(dialect.ConfigMeta{Config: c, Annotations: s.Annotations, Labels: s.Labels, Unselected: s.Unselected})
	s.write = applied.WriteOf(s.ResourceVersion, s.digest, s.decision.Counts)
	s.marks = h.options.Dialects.Values(obj.Content)
	if !slices.ContainsFunc(d.plan.Enabled, func(dl *dialect.Dialect) bool { return dl.Joint != nil && dl.Joint.Reads }) {
		return s, 0, nil
	}
	size := obj.Content.Size()
	if !h.memory.TryAcquire(size) {
		return sight{}, 0, errTooMuch
	}
	s.content = obj.Content
	return s, size, nil
}
