package torment

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/reroll-dev/reroll/tests/scenario"
)

// tenant is the namespace of the hostile workloads.
const tenant = "hostile"

// hostile is the tenant's part of the cluster.
type hostile struct {
	client  kubernetes.Interface
	objects dynamic.Interface
	edits   int
}

func crowdName(i int) string { return fmt.Sprintf("crowd-%d", i) }

// createConfigs creates the namespace and what the workloads use.
func (h *hostile) createConfigs(ctx context.Context) error {
	if err := createNamespace(ctx, h.client, tenant); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	config := func(name string, data map[string]string) {
		g.Go(func() error {
			_, err := h.client.CoreV1().ConfigMaps(tenant).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Name: name, Annotations: map[string]string{"reloader.stakater.com/match": "true"},
			}, Data: data}, metav1.CreateOptions{})
			return err
		})
	}
	config(stir, map[string]string{"k": "0"})
	config("wide", h.wide(wideKeys))
	for i := range wideConfigs {
		config(fmt.Sprintf("wide-%d", i), h.wide(keysEach))
	}
	for i := range crowd {
		config(crowdName(i), map[string]string{"k": "0"})
		g.Go(func() error {
			_, err := h.client.CoreV1().Secrets(tenant).Create(ctx, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: crowdName(i)}, StringData: map[string]string{"k": "0"},
			}, metav1.CreateOptions{})
			return err
		})
	}
	return g.Wait()
}

// wide returns data of so many keys, every one of which is another after each edit.
func (h *hostile) wide(keys int) map[string]string {
	data := make(map[string]string, keys)
	for i := range keys {
		data[fmt.Sprintf("a-key-of-a-length-that-is-not-unusual-%d", i)] = fmt.Sprint(h.edits)
	}
	return data
}

// createWorkloads creates all tricks.
func (h *hostile) createWorkloads(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for _, t := range tricks() {
		for i := range t.copies {
			name := fmt.Sprintf("%s-%d", t.name, i)
			g.Go(func() error {
				if err := h.create(ctx, t.makes(name)); err != nil {
					return fmt.Errorf("create %s: %w", name, err)
				}
				return nil
			})
		}
	}
	return g.Wait()
}

func (h *hostile) create(ctx context.Context, o object) error {
	kinds, _, err := scheme.Scheme.ObjectKinds(o)
	if err != nil {
		return err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return err
	}
	sent := &unstructured.Unstructured{Object: content}
	sent.SetGroupVersionKind(kinds[0])
	_, err = h.objects.Resource(scenario.Resource(kinds[0].Kind)).Namespace(tenant).Create(ctx, sent, metav1.CreateOptions{})
	return err
}

// torment edits the tenant's configs again and again until ctx ends: what all its workloads use, what is wide, and some of the crowd.
func (h *hostile) torment(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if err := h.edit(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (h *hostile) edit(ctx context.Context) error {
	h.edits++
	configs := h.client.CoreV1().ConfigMaps(tenant)
	names := []string{stir}
	for i := range 20 {
		names = append(names, crowdName((h.edits*20+i)%crowd))
	}
	for _, name := range names {
		if _, err := configs.Patch(ctx, name, types.MergePatchType, fmt.Appendf(nil, `{"data":{"k":"%d"}}`, h.edits), metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	wide := map[string]int{"wide": wideKeys}
	for i := range 4 {
		wide[fmt.Sprintf("wide-%d", (h.edits*4+i)%wideConfigs)] = keysEach
	}
	for name, keys := range wide {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: h.wide(keys)}
		if _, err := configs.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}
