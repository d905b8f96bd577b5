package hot

import (
	"context"
	"sync"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// How many requests may be under way at a time. Pods that answer slowly hold up those of their own namespace first.
const (
	perWorkload  = 4
	perNamespace = 8
	perNode      = 4
	inAll        = 16
)

// Gate bounds how many requests to pods are under way at a time: 4 for a workload, 8 for a namespace, 4 for a node, 16 in all. The zero value is
// ready for use.
type Gate struct {
	mu    sync.Mutex
	lanes map[lane]*slots
}

// lane is what a limit is for: one workload, namespace or node, or all.
type lane struct{ of, name string }

type slots struct {
	taken chan struct{}
	users int
}

// Do calls f once a request to pod may begin, unless ctx ends before. It returns what f returns.
func (g *Gate) Do(ctx context.Context, pod workload.RunningPod, f func(context.Context) error) error {
	for _, l := range []struct {
		lane  lane
		limit int
	}{ // everyone enters in this order, so that nobody waits for itself
		{lane{"workload", pod.Workload.String()}, perWorkload},
		{lane{"namespace", pod.Workload.Namespace}, perNamespace},
		{lane{"node", pod.Node}, perNode},
		{lane{"all", ""}, inAll},
	} {
		leave, err := g.enter(ctx, l.lane, l.limit)
		if err != nil {
			return err
		}
		defer leave()
	}
	return f(ctx)
}

func (g *Gate) enter(ctx context.Context, l lane, limit int) (leave func(), err error) {
	g.mu.Lock()
	s := g.lanes[l]
	if s == nil {
		if g.lanes == nil {
			g.lanes = map[lane]*slots{}
		}
		s = &slots{taken: make(chan struct{}, limit)}
		g.lanes[l] = s
	}
	s.users++
	g.mu.Unlock()
	done := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if s.users--; s.users == 0 {
			delete(g.lanes, l)
		}
	}
	select {
	case s.taken <- struct{}{}:
		return func() { <-s.taken; done() }, nil
	case <-ctx.Done():
		done()
		return nil, context.Cause(ctx)
	}
}
