package hot

import (
	"context"
	"sync"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// How many requests may be under way at a time. Pods that answer slowly hold up those of their own namespace first.
const perNamespace, perNode, inAll = 8, 4, 16

// Gate bounds how many requests to pods are under way at a time: 8 for a namespace, 4 for a node, 16 in all. The zero value is ready for use.
type Gate struct {
	// lanes has a channel for each namespace and node that has had a pod, and for all.
	lanes sync.Map
}

// Do calls f once a request to pod may begin, unless ctx ends before. It returns what f returns.
func (g *Gate) Do(ctx context.Context, pod workload.RunningPod, f func(context.Context) error) error {
	for _, lane := range []struct {
		name string
		room int
	}{{"namespace " + pod.Namespace, perNamespace}, {"node " + pod.Node, perNode}, {"all", inAll}} {
		known, _ := g.lanes.LoadOrStore(lane.name, make(chan struct{}, lane.room))
		under := known.(chan struct{}) //nolint:forcetypeassert // nothing else is stored
		select {
		case under <- struct{}{}:
			defer func() { <-under }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return f(ctx)
}
