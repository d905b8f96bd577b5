package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/live"
)

// Configs reads configs from the API server, never from a cache: what was written just before the workload must be seen. Errors are those
// of the Kubernetes API.
type Configs interface {
	Get(ctx context.Context, c reloader.Config) (live.Object, error)
}

// see reads configs. Those that cannot be read are missing in what it returns, and named in the error.
func (h *Handler) see(ctx context.Context, configs []reloader.Config) (map[reloader.Config]Seen, error) {
	if len(configs) > maxConfigs {
		return nil, fmt.Errorf("the workload has to do with %d configs, more than %d", len(configs), maxConfigs)
	}
	var (
		mu   sync.Mutex
		all  sync.WaitGroup
		seen = make(map[reloader.Config]Seen, len(configs))
		errs []error
	)
	turns := make(chan struct{}, readsAtOnce)
	for _, c := range configs {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			s, err := h.look(ctx, c)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				errs = append(errs, fmt.Errorf("read %s: %w", c, err))
			case !s.Unproven:
				seen[c] = s
			}
		})
	}
	all.Wait()
	return seen, errors.Join(errs...)
}

// look reads one config.
func (h *Handler) look(ctx context.Context, c reloader.Config) (Seen, error) {
	if err := ctx.Err(); err != nil {
		return Seen{}, err
	}
	obj, err := h.options.Configs.Get(ctx, c)
	if apierrors.IsNotFound(err) {
		return Seen{Absent: true}, nil
	}
	if err != nil {
		return Seen{}, err
	}
	return Seen{Meta: obj.Meta, Digest: h.options.Ring.Digest(obj.Content), Content: obj.Content}, nil
}
