package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/tests/line"
)

// bench measures one line.
type bench struct {
	options
	line   *line.Line
	client kubernetes.Interface
	rooms  int
}

// namespace makes a namespace of its own for one measurement.
func (b *bench) namespace(ctx context.Context) (string, error) {
	b.rooms++
	name := fmt.Sprintf("bench-%d", b.rooms)
	_, err := b.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	return name, err
}

// rolls reports every change of a workload's spec in a namespace, as the API server's watch tells it. An informer follows, since the
// API server ends the watches of clients that it is too busy to serve.
func (b *bench) rolls(ctx context.Context, ns string) (<-chan string, func(), error) {
	ctx, stop := context.WithCancel(ctx)
	factory := informers.NewSharedInformerFactoryWithOptions(b.client, 0, informers.WithNamespace(ns))
	informer := factory.Apps().V1().Deployments().Informer()
	rolled := make(chan string, 8192)
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, new any) {
		if was, is := old.(*appsv1.Deployment), new.(*appsv1.Deployment); is.Generation > was.Generation {
			rolled <- is.Name
		}
	}})
	if err != nil {
		stop()
		return nil, nil, err
	}
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		stop()
		return nil, nil, context.Cause(ctx)
	}
	return rolled, stop, nil
}

func await(ctx context.Context, rolled <-chan string, n int) error {
	for range n {
		select {
		case <-rolled:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (b *bench) setData(ctx context.Context, ns, name, value string) error {
	_, err := b.client.CoreV1().ConfigMaps(ns).Patch(ctx, name, types.MergePatchType, []byte(`{"data":{"k":"`+value+`"}}`), metav1.PatchOptions{})
	return err
}

func (b *bench) create(ctx context.Context, ns, config string, dependents int, annotations map[string]string) error {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: config}, Data: map[string]string{"k": "0"}}
	if _, err := b.client.CoreV1().ConfigMaps(ns).Create(ctx, cm, metav1.CreateOptions{}); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for i := range dependents {
		g.Go(func() error {
			_, err := b.client.AppsV1().Deployments(ns).Create(ctx, deployment(fmt.Sprintf("web-%d", i), config, annotations), metav1.CreateOptions{})
			return err
		})
	}
	return g.Wait()
}

func deployment(name, config string, annotations map[string]string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "main", Image: "example.com/main",
					EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: config}}}},
				}}},
			},
		},
	}
}

var optedIn = map[string]string{"reloader.stakater.com/auto": "true"}

// waitTracked waits until Reroll has a baseline for n workloads of a namespace.
func (b *bench) waitTracked(ctx context.Context, ns string, n int) error {
	return line.Poll(ctx, func(ctx context.Context) error {
		settled, _, err := b.line.Reroll.Settled(ctx, ns)
		if err != nil {
			return err
		}
		if len(settled) != n {
			return fmt.Errorf("%d of %d workloads have a baseline", len(settled), n)
		}
		return nil
	})
}
