package kube

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/reroll-dev/reroll/reloader/workload"
)

const (
	// firstLooks bounds how long Watch waits for the API server to say whether it serves a kind that it may lack.
	firstLooks = 10 * time.Second
	// firstLookEvery is the pause between two of these questions.
	firstLookEvery = 500 * time.Millisecond
	// absences is how many answers in a row must say that a kind is gone: one may come from an API server that has not caught up.
	absences = 2
)

// optional watches one kind as long as the API server serves it. One goroutine at a time uses it.
type optional struct {
	cluster *Cluster
	kind    workload.Kind
	roster  *roster
	// stop ends the informers, which are those of running; nil if there are none.
	stop    context.CancelFunc
	running sync.WaitGroup
	synced  []cache.InformerSynced
	// tracks are those of synced, for others than the goroutine; nil if there are none.
	tracks atomic.Pointer[[]cache.InformerSynced]
	// absent is how many answers in a row said that the kind is gone.
	absent int
}

// watchOptional starts to watch the kinds that the API server may lack, as far as it serves them now, and looks for the others and
// after these until ctx ends.
func (c *Cluster) watchOptional(ctx context.Context, r *roster) ([]cache.InformerSynced, error) {
	var synced []cache.InformerSynced
	for _, kind := range c.options.Scope.kinds(true) {
		o := &optional{cluster: c, kind: kind, roster: r}
		c.optionals.Store(kind.Kind, o)
		if err := o.first(ctx); err != nil {
			o.unwatch()
			return nil, err
		}
		synced = append(synced, o.synced...)
		go o.keep(ctx)
	}
	return synced, nil
}

// awaitOptional waits until what exists of optional kinds was tracked, but not for ever.
func (c *Cluster) awaitOptional(ctx context.Context, synced []cache.InformerSynced) error {
	bounded, cancel := context.WithTimeout(ctx, optionalSync)
	defer cancel()
	if cache.WaitForCacheSync(bounded.Done(), synced...) {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("watch workloads: %w", context.Cause(ctx))
	}
	c.logger().Warn("workloads of kinds that are no part of Kubernetes could not be listed yet, and follow when they can")
	return nil
}

// first looks until there is an answer, but not for ever: without one the kind is not watched yet.
func (o *optional) first(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, firstLooks)
	defer cancel()
	tick := time.NewTicker(firstLookEvery)
	defer tick.Stop()
	for {
		served, err := o.served(bounded)
		if err == nil {
			return o.settle(ctx, served)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("watch %s: %w", o.kind.Resource.Resource, context.Cause(ctx))
		case <-bounded.Done():
			o.cluster.logger().Warn("API server does not say whether it serves a kind of workload", "kind", o.kind.Kind, "error", err)
			return nil
		case <-tick.C:
		}
	}
}

// keep looks again and again until ctx ends.
func (o *optional) keep(ctx context.Context) {
	tick := time.NewTicker(o.cluster.options.Scope.lookEvery())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			o.stopInformers()
			return
		case <-tick.C:
		}
		served, err := o.served(ctx)
		if err != nil {
			continue // nobody knows: what is watched stays so
		}
		if err := o.settle(ctx, served); err != nil {
			o.cluster.logger().Error("kind of workload cannot be watched", "kind", o.kind.Kind, "error", err)
		}
	}
}

// served asks the API server whether it serves the kind.
func (o *optional) served(ctx context.Context) (bool, error) {
	var list metav1.APIResourceList
	gv := o.kind.Resource.GroupVersion()
	err := o.cluster.client.Discovery().RESTClient().Get().AbsPath("/apis", gv.Group, gv.Version).Do(ctx).Into(&list)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Name == o.kind.Resource.Resource && slices.Contains(r.Verbs, "watch")
	}), nil
}

// settle watches or stops to watch by an answer.
func (o *optional) settle(ctx context.Context, served bool) error {
	switch {
	case served:
		o.absent = 0
		if o.stop == nil {
			return o.watch(ctx)
		}
	case o.stop != nil:
		if o.absent++; o.absent >= absences {
			o.unwatch()
		}
	}
	return nil
}

// watch starts the informers.
func (o *optional) watch(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	o.stop = stop
	scope := o.cluster.options.Scope
	for _, namespace := range scope.namespaces() {
		informer := dynamicinformer.NewFilteredDynamicInformer(o.cluster.dynamic, o.kind.Resource, namespace, 0, cache.Indexers{}, scope.narrow).Informer()
		if err := informer.SetWatchErrorHandlerWithContext(quietlyAbsent); err != nil {
			o.unwatch()
			return fmt.Errorf("watch %s: %w", o.kind.Resource.Resource, err)
		}
		synced, err := o.cluster.feed(o.roster, o.kind, informer)
		if err != nil {
			o.unwatch()
			return err
		}
		o.synced = append(o.synced, synced)
		o.running.Go(func() { informer.RunWithContext(ctx) })
	}
	all := slices.Clone(o.synced)
	o.tracks.Store(&all)
	return nil
}

// Tracked reports whether Watch has tracked all workloads of a kind that exist: not yet, or not now, if the API server may lack the kind and does
// not serve it, or does not list it.
func (c *Cluster) Tracked(kind string) bool {
	o, known := c.optionals.Load(kind)
	return !known || o.(*optional).tracked()
}

func (o *optional) tracked() bool {
	all := o.tracks.Load()
	return all != nil && !slices.ContainsFunc(*all, func(synced cache.InformerSynced) bool { return !synced() })
}

// quietlyAbsent says nothing about a resource that is not served: whether it is, discovery tells.
func quietlyAbsent(ctx context.Context, r *cache.Reflector, err error) {
	if !apierrors.IsNotFound(err) {
		cache.DefaultWatchErrorHandler(ctx, r, err)
	}
}

// unwatch ends the informers and forgets every workload of the kind.
func (o *optional) unwatch() {
	o.stopInformers()
	o.roster.dropKind(o.kind.Kind)
}

// stopInformers returns when nothing comes from the informers any more.
func (o *optional) stopInformers() {
	if o.stop == nil {
		return
	}
	o.stop()
	o.running.Wait()
	o.stop, o.synced, o.absent = nil, nil, 0
	o.tracks.Store(nil)
}
