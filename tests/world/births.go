package world

import (
	"context"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// births counts how often each Job was created: a watch sees also those that lived for a moment.
type births struct {
	mu       sync.Mutex
	watching map[string]bool
	seen     map[string]map[types.UID]bool
}

// count returns how often a Job was created, up to and including live.
func (b *births) count(ctx context.Context, w *World, ref scenario.Ref, live *unstructured.Unstructured) (int64, error) {
	if err := b.watch(w, ref); err != nil {
		return 0, err
	}
	key := live.GetNamespace() + "/" + live.GetName()
	count := 0
	err := line.Poll(ctx, func(context.Context) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if count = len(b.seen[key]); !b.seen[key][live.GetUID()] {
			return fmt.Errorf("the watch has not seen Job %s of UID %s", key, live.GetUID())
		}
		return nil
	})
	return int64(count), err
}

// watch begins to watch the Jobs of a namespace, including those that exist already.
func (b *births) watch(w *World, ref scenario.Ref) error {
	_, namespace, _, err := ref.Split()
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watching[namespace] {
		return nil
	}
	if b.watching == nil {
		b.watching, b.seen = map[string]bool{}, map[string]map[types.UID]bool{}
	}
	events, err := w.in("Job", namespace).Watch(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	b.watching[namespace] = true
	go b.note(events)
	return nil
}

func (b *births) note(events watch.Interface) {
	defer events.Stop()
	for e := range events.ResultChan() {
		job, ok := e.Object.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		b.mu.Lock()
		key := job.GetNamespace() + "/" + job.GetName()
		if b.seen[key] == nil {
			b.seen[key] = map[types.UID]bool{}
		}
		b.seen[key][job.GetUID()] = true
		b.mu.Unlock()
	}
}

// Stop ends Reroll.
func (w *World) Stop(ctx context.Context) error { return w.line.Reroll.Terminate(ctx) }

// Kill ends Reroll without warning.
func (w *World) Kill(context.Context) error {
	w.line.Reroll.Kill()
	return nil
}

// Start starts Reroll again and returns when it is ready.
func (w *World) Start(ctx context.Context) error {
	if w.options.Restart == nil {
		return fmt.Errorf("this world's reroll is not its own")
	}
	return w.options.Restart(ctx)
}

// jobsOf returns the Jobs that a CronJob controls.
func (w *World) jobsOf(ctx context.Context, ref scenario.Ref) ([]unstructured.Unstructured, error) {
	_, namespace, name, err := ref.Split()
	if err != nil {
		return nil, err
	}
	list, err := w.in("Job", namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(job unstructured.Unstructured) bool {
		owner := metav1.GetControllerOf(&job)
		return owner == nil || owner.Kind != "CronJob" || owner.Name != name
	}), nil
}
