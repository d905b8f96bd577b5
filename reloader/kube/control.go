package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
)

// controlWait bounds the wait for the first answer: a freeze counts from the start, but without permission there is never an answer.
const controlWait = 10 * time.Second

// WatchControl calls set with the data of the ConfigMap control.ConfigMap, now and whenever it changes, until ctx ends, one call at a time.
// It returns after the first call; nil data means that there is no ConfigMap. After ten seconds without an answer it returns an error, and
// continues: until set is called, it is unknown what the ConfigMap says.
func (c *connection) WatchControl(ctx context.Context, set func(data map[string]string)) error {
	return c.watchControl(ctx, controlWait, set)
}

func (c *connection) watchControl(ctx context.Context, longest time.Duration, set func(data map[string]string)) error {
	informer := cache.NewSharedIndexInformer(listWatch(c.client.CoreV1().ConfigMaps(c.Namespace), c.client, func(o *metav1.ListOptions) error {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, control.ConfigMap).String()
		return nil
	}), &corev1.ConfigMap{}, 0, cache.Indexers{})
	var mu sync.Mutex
	tell := func() {
		mu.Lock()
		defer mu.Unlock()
		obj, _, _ := informer.GetStore().GetByKey(c.Namespace + "/" + control.ConfigMap) // the store returns no errors
		if m, ok := obj.(*corev1.ConfigMap); ok {
			set(m.Data)
		} else {
			set(nil)
		}
	}
	registration, err := informer.AddEventHandler(on(func(*corev1.ConfigMap, bool) { tell() }))
	if err != nil {
		return fmt.Errorf("watch ConfigMap %s/%s: %w", c.Namespace, control.ConfigMap, err)
	}
	go informer.RunWithContext(ctx)
	answered := make(chan struct{})
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
			if len(informer.GetStore().ListKeys()) == 0 {
				tell()
			}
			close(answered)
		}
	}()
	select {
	case <-answered:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(longest):
		return fmt.Errorf("watch ConfigMap %s/%s: no answer in %s", c.Namespace, control.ConfigMap, longest)
	}
}

// ChangeControl has change rewrite the data of the ConfigMap control.ConfigMap, again after a conflict, and creates it if there is none. An
// error of change is returned, and nothing is written.
func (c *connection) ChangeControl(ctx context.Context, change func(data map[string]string) error) error {
	client := c.client.CoreV1().ConfigMaps(c.Namespace)
	raced := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	err := retry.OnError(retry.DefaultRetry, raced, func() error {
		stored, err := client.Get(ctx, control.ConfigMap, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			stored, err = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: control.ConfigMap}}, nil
		}
		if err != nil {
			return err
		}
		if stored.Data == nil {
			stored.Data = map[string]string{}
		}
		if err := change(stored.Data); err != nil {
			return err
		}
		_, err = upsert(ctx, client, stored)
		return err
	})
	if err != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", c.Namespace, control.ConfigMap, err)
	}
	return nil
}

// Annotate gives a workload an annotation.
func (c *connection) Annotate(ctx context.Context, ref reloader.WorkloadRef, key, value string) error {
	kind, err := kindOf(ref.Kind)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{key: value}}})
	if err != nil {
		return err
	}
	_, err = c.metadata.Resource(kind.Resource).Namespace(ref.Namespace).Patch(ctx, ref.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	if err != nil {
		return fmt.Errorf("annotate %s: %w", ref, err)
	}
	return nil
}

// RunsHere reports whether the namespace of c has an object that only Reroll's processes write, or such objects may not be read.
func (c *connection) RunsHere(ctx context.Context) bool {
	return !absent(ctx, c.metadata.Resource(resourceOf(reloader.Secret)).Namespace(c.Namespace), KeySecret) ||
		!absent(ctx, c.metadata.Resource(resourceOf(reloader.ConfigMap)).Namespace(c.Namespace), CanaryName)
}

// HasNamespace reports whether a namespace exists, or may not be read.
func (c *connection) HasNamespace(ctx context.Context, name string) bool {
	return !absent(ctx, c.metadata.Resource(namespaces), name)
}

func absent(ctx context.Context, objects metadata.ResourceInterface, name string) bool {
	_, err := objects.Get(ctx, name, metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}
