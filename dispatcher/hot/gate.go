package hot

import (
	"context"
	"sync"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// How many requests may be under way at a time. Pods that answer slowly hold up those of their own namespace first.
const (
	perNamespace = 8
	perNode      = 4
	inAll        = 16
)

// Gate bounds how many requests to pods are under way at a time: 8 for a namespace, 4 for a node, 16 in all. The zero value is ready for use.
type Gate struct {
	mu sync.Mutex
	// busy counts the requests that are under way for each namespace and node, and in all. left is closed when one of them ends.
	busy map[string]int
	left chan struct{}
}

// Do calls f once a request to pod may begin, unless ctx ends before. It returns what f returns.
func (g *Gate) Do(ctx context.Context, pod workload.RunningPod, f func(context.Context) error) error {
	lanes := map[string]int{"namespace " + pod.Namespace: perNamespace, "node " + pod.Node: perNode, "all": inAll}
	for {
		left := g.enter(lanes)
		if left == nil {
			defer g.leave(lanes)
			return f(ctx)
		}
		select {
		case <-left:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// enter returns nil if there is room in all lanes, or else what is closed when there may be.
func (g *Gate) enter(lanes map[string]int) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy == nil {
		g.busy, g.left = map[string]int{}, make(chan struct{})
	}
	for lane, limit := range lanes {
		if g.busy[lane] >= limit {
			return g.left
		}
	}
	for lane := range lanes {
		g.busy[lane]++
	}
	return nil
}

func (g *Gate) leave(lanes map[string]int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for lane := range lanes {
		if g.busy[lane]--; g.busy[lane] == 0 {
			delete(g.busy, lane)
		}
	}
	close(g.left)
	g.left = make(chan struct{})
}
