package app

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/reroll-dev/reroll/api/ops"
)

const (
	// probeInterval is how old the answer of /readyz may be, and probeTime how long one probe may take.
	probeInterval = 500 * time.Millisecond
	probeTime     = 3 * time.Second
)

var (
	errNotProbed = errors.New("not looked at yet")
	errEnding    = errors.New("the process is stopping")
)

// health looks at each part again and again, so that a probe of the process is answered at once.
type health struct {
	// changed is called when a part has become well or ill; may be nil.
	changed func()

	mu     sync.Mutex
	probes []func(context.Context) error
	checks []ops.Check
	ending bool
}

// add registers a probe. Until it is asked, its check fails.
func (h *health) add(name string, probe func(context.Context) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.probes = append(h.probes, probe)
	h.checks = append(h.checks, ops.Check{Name: name, Err: errNotProbed})
}

func (h *health) run(ctx context.Context) error {
	wait.UntilWithContext(ctx, h.look, probeInterval)
	return nil
}

func (h *health) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	h.mu.Lock()
	probes := slices.Clone(h.probes)
	h.mu.Unlock()
	var all sync.WaitGroup
	for i, probe := range probes {
		all.Go(func() {
			if err := probe(ctx); h.note(i, err) && h.changed != nil {
				h.changed()
			}
		})
	}
	all.Wait()
}

// note stores the answer of a probe, and reports whether its part has become well or ill.
func (h *health) note(i int, err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.checks[i].Err
	h.checks[i].Err = err
	return (was == nil) != (err == nil)
}

// end makes the state fail from now on, whatever the probes say: no client must start to rely on a stopping process.
func (h *health) end(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ending = true
	return nil
}

func (h *health) state() []ops.Check {
	h.mu.Lock()
	defer h.mu.Unlock()
	checks := slices.Clone(h.checks)
	if h.ending {
		checks = append(checks, ops.Check{Name: "end", Err: errEnding})
	}
	return checks
}
