package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// writer is the only one who edits the configs, and so knows every content that each of them had. It is used by one goroutine.
type writer struct {
	world *world
	dice  *dice
	// contents are those of each config, oldest first, no two neighbours alike.
	contents             map[config][]string
	untouched, recreated int
	// updates may be read while the writer writes.
	updates atomic.Int64
}

// firstContent is what every config holds at the start.
const firstContent = "start"

func newWriter(w *world, d *dice) *writer {
	contents := map[config][]string{}
	for _, c := range w.configs {
		contents[c] = []string{firstContent}
	}
	return &writer{world: w, dice: d, contents: contents}
}

// write edits at random, about rate times in a second, until ctx ends. whole bounds what it has begun by then.
func (w *writer) write(ctx, whole context.Context, rate float64) {
	mean := time.Duration(float64(time.Second) / rate)
	for ctx.Err() == nil {
		pause(ctx, w.dice.upTo(2*mean))
		c := w.world.configs[w.dice.n(len(w.world.configs))]
		// An edit that has begun is brought to its end, since nobody else could tell whether it was stored.
		w.edit(whole, c)
	}
}

// edit does one thing to a config: mostly a new content, sometimes the one before the newest, sometimes nothing that counts.
func (w *writer) edit(ctx context.Context, c config) {
	had := w.contents[c]
	newest := had[len(had)-1]
	switch roll := w.dice.n(100); {
	case roll < 5:
		w.relabel(ctx, c, newest)
		w.untouched++
		return
	case roll < 8:
		w.recreate(ctx, c, newest)
		w.recreated++
		return
	case roll < 18 && len(had) > 1:
		newest = had[len(had)-2]
	default:
		newest = fmt.Sprintf("version-%d", w.updates.Load())
	}
	w.store(ctx, c, newest, nil)
	w.contents[c] = append(had, newest)
	w.updates.Add(1)
}

// relabel writes a label, which is not a content.
func (w *writer) relabel(ctx context.Context, c config, content string) {
	w.store(ctx, c, content, map[string]string{"touched": fmt.Sprint(w.untouched)})
}

// recreate deletes a config and creates it again as it was.
func (w *writer) recreate(ctx context.Context, c config, content string) {
	persist(ctx, func(ctx context.Context) error {
		if err := w.world.in(c).Delete(ctx, c.Name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
	w.store(ctx, c, content, nil)
}

// store brings a config to a content and labels, whatever happens to the API server meanwhile.
func (w *writer) store(ctx context.Context, c config, content string, labels map[string]string) {
	persist(ctx, func(ctx context.Context) error {
		live, err := w.world.in(c).Get(ctx, c.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = w.world.in(c).Create(ctx, c.object(content), metav1.CreateOptions{})
			return err
		}
		if err != nil || c.content(live) == content && labelled(live, labels) {
			return err
		}
		c.setContent(live, content)
		if labels != nil {
			live.SetLabels(labels)
		}
		_, err = w.world.in(c).Update(ctx, live, metav1.UpdateOptions{})
		return err
	})
}

func labelled(o *unstructured.Unstructured, labels map[string]string) bool {
	for k, v := range labels {
		if o.GetLabels()[k] != v {
			return false
		}
	}
	return true
}

const (
	// tryTime bounds one try of a request, and tryPause is between two.
	tryTime  = 5 * time.Second
	tryPause = 200 * time.Millisecond
)

// persist tries until it succeeds or ctx ends.
func persist(ctx context.Context, try func(context.Context) error) {
	for ctx.Err() == nil {
		once, cancel := context.WithTimeout(ctx, tryTime)
		err := try(once)
		cancel()
		if err == nil {
			return
		}
		pause(ctx, tryPause)
	}
}

// hashes are the contents of a workload's configs as the oracle wants them.
func (w *writer) hashes(of workload) map[config][]string {
	found := map[config][]string{}
	for _, c := range of.uses {
		for _, content := range w.contents[c] {
			found[c] = append(found[c], hash(content))
		}
	}
	return found
}

// bystander writes the specs of workloads, as autoscalers and operators do, and leaves their templates alone. It is the only one who
// does so, and says on each workload how often. It is used by one goroutine.
type bystander struct {
	world *world
	dice  *dice
	// done is how often each workload was written.
	done map[string]int64
}

// editsField is the field of a spec in which the bystander counts.
const editsField = "minReadySeconds"

// edits returns how often the bystander has written o.
func edits(o *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(o.Object, "spec", editsField)
	return n
}

// edit writes specs at random, about rate times in a second, until ctx ends. whole bounds what it has begun by then.
func (b *bystander) edit(ctx, whole context.Context, rate float64) {
	if rate == 0 {
		return
	}
	mean := time.Duration(float64(time.Second) / rate)
	for pause(ctx, b.dice.upTo(2*mean)); ctx.Err() == nil; pause(ctx, b.dice.upTo(2*mean)) {
		w := b.world.workloads[b.dice.n(len(b.world.workloads))]
		b.done[w.String()]++
		b.store(whole, w, b.done[w.String()])
	}
}

// store brings the count of a workload to n, whatever happens to the API server meanwhile.
func (b *bystander) store(ctx context.Context, w workload, n int64) {
	workloads := b.world.dynamic.Resource(resource(w.kind)).Namespace(w.namespace)
	persist(ctx, func(ctx context.Context) error {
		live, err := workloads.Get(ctx, w.name, metav1.GetOptions{})
		if err != nil || edits(live) == n {
			return err
		}
		if err := unstructured.SetNestedField(live.Object, n, "spec", editsField); err != nil {
			return err
		}
		_, err = workloads.Update(ctx, live, metav1.UpdateOptions{})
		return err
	})
}

// total is how often the bystander has written anything.
func (b *bystander) total() int64 {
	var total int64
	for _, n := range b.done {
		total += n
	}
	return total
}
