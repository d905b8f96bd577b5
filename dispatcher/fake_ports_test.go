package dispatcher_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// client is what a dispatcher sees of a cluster.
type client struct {
	*cluster
	dialects dialect.Set
}

var (
	_ dispatcher.Configs   = client{}
	_ dispatcher.Workloads = client{}
)

func configRef(c reloader.Config) scenario.Ref {
	return scenario.NewRef(string(c.Kind), c.Namespace, c.Name)
}

func workloadRef(w reloader.WorkloadRef) scenario.Ref {
	return scenario.NewRef(w.Kind, w.Namespace, w.Name)
}

// Meta reads the metadata of a config.
func (c client) Meta(ctx context.Context, config reloader.Config) (live.Meta, error) {
	if err := c.request(ctx, "meta", config.String()); err != nil {
		return live.Meta{}, err
	}
	obj, ok := c.read(configRef(config))
	if !ok {
		return live.Meta{}, notFound(configRef(config))
	}
	return metaOf(obj), nil
}

// Get reads a config.
func (c client) Get(ctx context.Context, config reloader.Config) (live.Object, error) {
	if err := c.request(ctx, "get", config.String()); err != nil {
		return live.Object{}, err
	}
	obj, _ := c.read(configRef(config))
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		return live.Object{Meta: metaOf(o), Content: digest.OfConfigMap(o)}, nil
	case *corev1.Secret:
		return live.Object{Meta: metaOf(o), Content: digest.OfSecret(o)}, nil
	}
	return live.Object{}, notFound(configRef(config))
}

// List returns the metadata of configs.
func (c client) List(ctx context.Context, kind reloader.ConfigKind, namespace string) (map[reloader.Config]live.Meta, error) {
	if err := c.request(ctx, "list", string(kind)+"/"+namespace); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[reloader.Config]live.Meta{}
	for ref, obj := range c.objects {
		k, ns, name, _ := ref.Split()
		if k == string(kind) && ns == namespace {
			found[reloader.Config{Kind: kind, Namespace: ns, Name: name}] = metaOf(obj)
		}
	}
	return found, nil
}

// Terminating says what the test says of every namespace.
func (c client) Terminating(ctx context.Context, namespace string) (bool, error) {
	if err := c.request(ctx, "namespace", namespace); err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.terminating, nil
}

func metaOf(obj scenario.Typed) live.Meta {
	m := live.Meta{UID: string(obj.GetUID()), ResourceVersion: obj.GetResourceVersion(), Created: obj.GetCreationTimestamp().Time, Annotations: obj.GetAnnotations(), Labels: obj.GetLabels()}
	for _, e := range obj.GetManagedFields() {
		m.Written = slices.MaxFunc([]time.Time{m.Written, e.Time.Time}, time.Time.Compare)
		if strings.Contains(e.FieldsV1.GetRawString(), "f:data") && e.Time.After(m.DataWritten) {
			m.DataManager, m.DataWritten = e.Manager, e.Time.Time
		}
	}
	return m
}

// strip returns the workload that obj is.
func (c client) strip(obj scenario.Typed) *workload.Workload {
	kind, _ := workload.KindNamed(obj.GetObjectKind().GroupVersionKind().Kind)
	w, err := kind.Strip(obj, c.dialects.KeepsAnnotation)
	if err != nil {
		panic(err)
	}
	return w
}

// Read reads a workload.
func (c client) Read(ctx context.Context, ref reloader.WorkloadRef) (*workload.Workload, error) {
	if err := c.request(ctx, "read", ref.String()); err != nil {
		return nil, err
	}
	obj, ok := c.read(workloadRef(ref))
	if !ok {
		return nil, notFound(workloadRef(ref))
	}
	return c.strip(obj), nil
}

// Tracked says that the API serves every kind.
func (client) Tracked(string) bool { return true }

// Unseen says what the test says of the watch.
func (c client) Unseen(ctx context.Context, namespace string) (func() []reloader.WorkloadRef, error) {
	return func() []reloader.WorkloadRef {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.lag
	}, c.request(ctx, "unseen", namespace)
}

// Roll writes by name, if w is as it was read.
func (c client) Roll(ctx context.Context, w *workload.Workload, r mark.Roll) (*workload.Workload, error) {
	if err := c.request(ctx, "patch", w.Ref().String()); err != nil {
		return nil, err
	}
	ref := workloadRef(w.Ref())
	_, err := c.change(ref, reloader.VerbPatch, reloader.Actor{User: "reroll", FieldManager: workload.MarkManager},
		func(old []byte, _ scenario.Typed) ([]byte, error) {
			applied, err := mark.Apply(w, old, r)
			if errors.Is(err, mark.ErrMoved) {
				group, name := resource(ref)
				return nil, apierrors.NewConflict(group, name, err)
			}
			if errors.Is(err, mark.ErrTaken) {
				return nil, unprocessable("%v", err)
			}
			return applied, err
		})
	if err != nil {
		return nil, err
	}
	obj, ok := c.read(ref)
	if !ok {
		return nil, notFound(ref)
	}
	return c.strip(obj), nil
}

// Pods returns one pod, whose containers started together, or one that waits.
func (c client) Pods(ctx context.Context, w *workload.Workload) (workload.Pods, error) {
	if err := c.request(ctx, "pods", w.Ref().String()); err != nil {
		return workload.Pods{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	pods := workload.Pods{Known: true}
	at, ok := c.started[workloadRef(w.Ref())]
	if !ok {
		return pods, nil
	}
	pod := workload.Pod{Name: "pod-1", Current: true}
	names := slices.Clone(w.Template.Init)
	for _, container := range w.Template.Containers {
		names = append(names, container.Name)
	}
	for _, name := range names {
		start := workload.Start{Name: name}
		if !at.After(time.Now()) {
			start.At = at.Truncate(time.Second)
		}
		pod.Containers = append(pod.Containers, start)
	}
	pods.Of = []workload.Pod{pod}
	return pods, nil
}
