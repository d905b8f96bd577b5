package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/reroll-dev/reroll/tests/line"
)

// witness records every change of a pod template of ordinary workloads that the API server shows, and when.
type witness struct {
	mu    sync.Mutex
	rolls map[place][]time.Time
}

// watch follows the Deployments of all teams until ctx ends; it returns when it knows them all.
func watch(ctx context.Context, client kubernetes.Interface) (*witness, error) {
	n := &witness{rolls: map[place][]time.Time{}}
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Apps().V1().Deployments().Informer()
	// The tenant's Deployments are large, and there is nothing to be seen of them here.
	if err := informer.SetTransform(slim); err != nil {
		return nil, err
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, new any) {
		was, is := old.(*appsv1.Deployment), new.(*appsv1.Deployment)
		n.note(place{is.Namespace, is.Name}, is.Generation-was.Generation)
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

func slim(object any) (any, error) {
	d, ok := object.(*appsv1.Deployment)
	if !ok {
		return object, nil
	}
	small := &appsv1.Deployment{}
	small.Namespace, small.Name, small.Generation, small.ResourceVersion, small.UID = d.Namespace, d.Name, d.Generation, d.ResourceVersion, d.UID
	return small, nil
}

func (n *witness) note(p place, times int64) {
	if !strings.HasPrefix(p.namespace, "team-") {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for range times {
		n.rolls[p] = append(n.rolls[p], time.Now())
	}
}

// round is what became of one edit of every ordinary workload.
type round struct {
	name string
	// took has the times from the end of an edit to the roll, in order.
	took []time.Duration
}

func (r round) slowest() time.Duration { return r.took[len(r.took)-1] }
func (r round) median() time.Duration  { return r.took[len(r.took)/2] }

// wait waits until each edited workload has rolled for the number of times that it was edited.
func (n *witness) wait(ctx context.Context, name string, edited map[place]time.Time, times int) (round, error) {
	err := line.Poll(ctx, func(context.Context) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		var late []string
		for p := range edited {
			if len(n.rolls[p]) < times {
				late = append(late, p.namespace+"/"+p.name)
			}
		}
		if len(late) > 0 {
			slices.Sort(late)
			return fmt.Errorf("%d of %d ordinary workloads have not rolled, such as %s", len(late), len(edited), late[0])
		}
		return nil
	})
	n.mu.Lock()
	defer n.mu.Unlock()
	r := round{name: name}
	for p, at := range edited {
		if len(n.rolls[p]) >= times {
			r.took = append(r.took, n.rolls[p][times-1].Sub(at))
		}
	}
	slices.Sort(r.took)
	return r, err
}

// extra returns the faults of ordinary workloads that rolled more often than they were edited.
func (n *witness) extra(times int) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var faults []string
	for p, rolls := range n.rolls {
		if len(rolls) > times {
			faults = append(faults, fmt.Sprintf("%s/%s rolled %d times for %d edits", p.namespace, p.name, len(rolls), times))
		}
	}
	slices.Sort(faults)
	return faults
}
