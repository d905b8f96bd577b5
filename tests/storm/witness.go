package main

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/reroll-dev/reroll/tests/line"
)

// witness takes down every template change that the API server shows.
type witness struct {
	mu sync.Mutex
	// rolls are how often each workload has rolled, and at when each of these was seen.
	rolls map[string]int64
	at    []time.Time
}

// watch follows the workloads until ctx ends; it returns when it knows them all.
func watch(ctx context.Context, client kubernetes.Interface) (*witness, error) {
	n := &witness{rolls: map[string]int64{}}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	informer := factory.Apps().V1().Deployments().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, new any) {
		was, is := old.(*appsv1.Deployment), new.(*appsv1.Deployment)
		n.note(is.Name, is.Generation-was.Generation)
	}})
	if err != nil {
		return nil, err
	}
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, context.Cause(ctx)
	}
	return n, nil
}

// note takes down that a workload has rolled so many times.
func (n *witness) note(name string, times int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for range times {
		n.rolls[name]++
		n.at = append(n.at, time.Now())
	}
}

// seen returns how often each workload has rolled, and when.
func (n *witness) seen() (rolls map[string]int64, at []time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.rolls), append([]time.Time(nil), n.at...)
}

// wait waits until so many workloads have rolled at all.
func (n *witness) wait(ctx context.Context, workloads int) error {
	return line.Poll(ctx, func(context.Context) error {
		if rolls, _ := n.seen(); len(rolls) < workloads {
			return fmt.Errorf("%d of %d workloads have rolled", len(rolls), workloads)
		}
		return nil
	})
}
