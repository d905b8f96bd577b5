package main

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// bystander writes the specs of workloads, as autoscalers and operators do, and leaves their templates alone. It is the only one who
// does so, and says on each workload how often. It is used by one goroutine.
type bystander struct {
	world *world
	dice  *dice
	// done is how often each workload was written.
	done map[string]int64
}

func newBystander(w *world, d *dice) *bystander {
	return &bystander{world: w, dice: d, done: map[string]int64{}}
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
