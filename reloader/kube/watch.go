package kube

import (
	"context"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// byTemplate indexes workloads by the object whose pod template they run.
const byTemplate = "template-of"

var workloadIndexers = cache.Indexers{
	cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	byTemplate: func(obj any) ([]string, error) {
		if w, ok := obj.(*workload.Workload); ok && w.TemplateOf != nil {
			return []string{w.TemplateOf.String()}, nil
		}
		return nil, nil
	},
}

// watcher reports the workloads that the informers have. Each event makes it look at what they have now, so that the order in which informers
// report does not matter.
type watcher struct {
	track  func(*workload.Workload)
	forget func(reloader.WorkloadRef)
	// selected has the namespaces whose labels match; nil: all namespaces are watched.
	selected cache.Store
	// stores has the informers' stores by kind, and for each kind by namespace; the namespace is empty for a store with all of them. It does
	// not change once an informer runs, and neither does listed: by kind, whether what existed was tracked.
	stores map[string]map[string]cache.Indexer
	listed map[string][]cache.InformerSynced

	mu sync.Mutex // one call of track and forget at a time
	// handled has the newest resource version of each workload for which an event was handled, until its deletion was.
	handled map[reloader.WorkloadRef]string
}

func newWatcher(track func(*workload.Workload), forget func(reloader.WorkloadRef)) *watcher {
	return &watcher{
		track: track, forget: forget, stores: map[string]map[string]cache.Indexer{}, listed: map[string][]cache.InformerSynced{},
		handled: map[reloader.WorkloadRef]string{},
	}
}

// Watch calls track for every workload in scope, now and after each of its changes, and forget for each that is deleted or leaves the scope.
// It returns when all that exist were tracked, and continues until ctx ends. Objects are stripped before they are cached. Calls come one
// at a time. A workload that runs another object's template comes joined with that object, or without a template while that is not known.
//
// A kind that the API server may lack holds nothing up: if it cannot be listed at first, its workloads are tracked once it can. client-go
// tries again after at most a minute.
func (c *Cluster) Watch(ctx context.Context, track func(*workload.Workload), forget func(reloader.WorkloadRef)) error {
	w := newWatcher(track, forget)
	var run []func()
	var synced []cache.InformerSynced
	for _, kind := range c.options.Scope.kinds() {
		w.stores[kind.Kind] = map[string]cache.Indexer{}
		for _, namespace := range c.options.Scope.namespaces() {
			objects, example := c.workloads(kind, namespace)
			informer := cache.NewSharedIndexInformer(objects, example, 0, workloadIndexers)
			w.stores[kind.Kind][namespace] = informer.GetIndexer()
			has, failed, err := c.feed(informer, c.strip(kind), w.handler(), kind.Optional, kind.Resource.Resource)
			if err != nil {
				return fmt.Errorf("watch %s: %w", kind.Resource.Resource, err)
			}
			w.listed[kind.Kind], synced = append(w.listed[kind.Kind], has), append(synced, func() bool { return has() || failed() })
			run = append(run, func() { informer.RunWithContext(ctx) })
		}
	}
	c.watcher.Store(w)
	if err := c.watchNamespaces(ctx, w); err != nil {
		return err
	}
	for _, r := range run {
		go r()
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return fmt.Errorf("watch workloads: %w", context.Cause(ctx))
	}
	return nil
}

// Tracked reports whether Watch has tracked all workloads of a kind that exist; false while a kind that the API server may lack was never
// listed.
func (c *Cluster) Tracked(kind string) bool {
	w := c.watcher.Load()
	return w == nil || !slices.ContainsFunc(w.listed[kind], func(has cache.InformerSynced) bool { return !has() })
}

// watchNamespaces has w follow the labels of namespaces, if they are selected by these. It returns when all that exist are known. The API server
// selects: to the informer a namespace that stops to match is deleted.
func (c *Cluster) watchNamespaces(ctx context.Context, w *watcher) error {
	if !c.options.Scope.selects() {
		return nil
	}
	selector := c.options.Scope.NamespaceSelector.String()
	informer := c.metadataInformer(namespaces, metav1.NamespaceAll, func(o *metav1.ListOptions) { o.LabelSelector = selector })
	w.selected = informer.GetStore()
	return c.follow(ctx, "namespaces", informer, cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { w.lookAtNamespace(obj.(*metav1.PartialObjectMetadata).Name) },
		DeleteFunc: func(obj any) {
			if ns, ok := last[*metav1.PartialObjectMetadata](obj); ok {
				w.lookAtNamespace(ns.Name)
			}
		},
	})
}

func (w *watcher) handler() cache.ResourceEventHandler {
	return on(func(found *workload.Workload, deleted bool) { w.look(found.Ref(), deleted) })
}

// look reports a workload as it is now, and those that run its template.
func (w *watcher) look(ref reloader.WorkloadRef, deleted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if deleted {
		w.forget(ref)
		delete(w.handled, ref)
	}
	if found := w.get(ref); found != nil {
		w.handled[ref] = found.ResourceVersion
	}
	if w.selects(ref.Namespace) {
		w.trackNow(ref)
		w.trackRunners(ref)
	}
}

// lookAtNamespace reports all workloads of a namespace that begins or stops to be selected.
func (w *watcher) lookAtNamespace(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	selected := w.selects(namespace)
	for kind := range w.stores {
		objects, _ := w.storeOf(kind, namespace).ByIndex(cache.NamespaceIndex, namespace) // the index exists
		for _, obj := range objects {
			if ref := obj.(*workload.Workload).Ref(); selected {
				w.trackNow(ref)
			} else {
				w.forget(ref)
			}
		}
	}
}

func (w *watcher) selects(namespace string) bool {
	if w.selected == nil {
		return true
	}
	_, exists, _ := w.selected.GetByKey(namespace) // the store returns no errors
	return exists
}

func (w *watcher) storeOf(kind, namespace string) cache.Indexer {
	if store := w.stores[kind][namespace]; store != nil {
		return store
	}
	return w.stores[kind][metav1.NamespaceAll]
}

func (w *watcher) get(ref reloader.WorkloadRef) *workload.Workload {
	store := w.storeOf(ref.Kind, ref.Namespace)
	if store == nil {
		return nil
	}
	obj, _, _ := store.GetByKey(ref.Namespace + "/" + ref.Name) // the store returns no errors
	found, _ := obj.(*workload.Workload)
	return found
}

// trackNow tracks a workload with the template that it runs, as far as the informers have them.
func (w *watcher) trackNow(ref reloader.WorkloadRef) {
	found := w.get(ref)
	if found == nil {
		return
	}
	if found.TemplateOf != nil {
		if via := w.get(*found.TemplateOf); via != nil {
			found = found.Through(via)
		}
	}
	w.track(found)
}

// trackRunners tracks the workloads that run the template of an object.
func (w *watcher) trackRunners(of reloader.WorkloadRef) {
	for kind := range w.stores {
		runners, _ := w.storeOf(kind, of.Namespace).ByIndex(byTemplate, of.String()) // the index exists
		for _, obj := range runners {
			w.trackNow(obj.(*workload.Workload).Ref())
		}
	}
}

// strip returns what makes workloads of objects. An object that cannot be read becomes a workload that asks for nothing, since an error here
// would hide all others of its kind.
func (c *Cluster) strip(kind workload.Kind) cache.TransformFunc {
	return func(obj any) (any, error) {
		w, err := kind.Strip(obj, c.options.KeepAnnotation)
		if err == nil {
			return w, nil
		}
		m := obj.(metav1.Object)
		c.options.Logger.Warn("workload is malformed and left alone", "kind", kind.Kind, "namespace", m.GetNamespace(), "name", m.GetName(), "error", err)
		return &workload.Workload{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUID(),
				Generation: m.GetGeneration(), ResourceVersion: m.GetResourceVersion(),
			},
			Kind: kind.Kind,
		}, nil
	}
}
