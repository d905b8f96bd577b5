package main

import (
	"context"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// witness takes down every template that the API server shows. It asks nobody else.
type witness struct {
	world *world
	// owners are the workloads by what they are called.
	owners map[string]workload

	mu   sync.Mutex
	seen map[string][]sight
	// unseen counts generations that no watch has shown, since the API server forgets events when it is restarted. They count
	// as template changes all the same.
	unseen int64
}

func newWitness(w *world) *witness {
	n := &witness{world: w, owners: map[string]workload{}, seen: map[string][]sight{}}
	for _, o := range w.workloads {
		n.owners[o.String()] = o
	}
	return n
}

// watch looks at workloads of one kind until ctx ends.
func (n *witness) watch(ctx context.Context, kind string) {
	version := ""
	for ctx.Err() == nil {
		if version == "" {
			version = n.list(ctx, kind)
		}
		if version != "" {
			version = n.follow(ctx, kind, version)
		}
		pause(ctx, tryPause)
	}
}

// list takes down what is there now, and returns its version; nothing if it failed.
func (n *witness) list(ctx context.Context, kind string) string {
	list, err := n.world.dynamic.Resource(resource(kind)).List(ctx, metav1.ListOptions{})
	if err != nil {
		return ""
	}
	for i := range list.Items {
		n.note(&list.Items[i])
	}
	return list.GetResourceVersion()
}

// follow takes down what changes after version until the watch breaks. It returns where to continue; nothing if the API server has
// forgotten that.
func (n *witness) follow(ctx context.Context, kind, version string) string {
	w, err := n.world.dynamic.Resource(resource(kind)).Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
	if err != nil {
		return ""
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			return ""
		}
		version = n.take(event.Object, version)
	}
	return version
}

func (n *witness) take(object runtime.Object, version string) string {
	o, ok := object.(*unstructured.Unstructured)
	if !ok {
		return version
	}
	n.note(o)
	return o.GetResourceVersion()
}

// note takes down a template if its generation is new.
func (n *witness) note(o *unstructured.Unstructured) {
	name := o.GetKind() + "/" + o.GetNamespace() + "/" + o.GetName()
	owner, ours := n.owners[name]
	if !ours {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	last := int64(0)
	if seen := n.seen[name]; len(seen) > 0 {
		last = seen[len(seen)-1].Generation
	}
	if g := o.GetGeneration(); g > last {
		n.unseen += g - last - 1
		n.seen[name] = append(n.seen[name], sight{Generation: g, Others: edits(o), Marks: owner.marks(o), Reload: lastReload(o)})
	}
}

// history returns what was seen of a workload.
func (n *witness) history(w workload) []sight {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.seen[w.String()])
}

// rolls returns how many template changes there were of all workloads, and how many of them no watch has shown.
func (n *witness) rolls() (all, unseen int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, seen := range n.seen {
		all += seen[len(seen)-1].rolls()
	}
	return all, n.unseen
}

// lastReload says what Reroll has written about its last reload.
func lastReload(o *unstructured.Unstructured) string {
	hash, _, _ := unstructured.NestedString(o.Object, "spec", "template", "metadata", "annotations", "reroll.dev/config-hash")
	return fmt.Sprintf("applied %q with hash %q", o.GetAnnotations()["reroll.dev/applied"], hash)
}
