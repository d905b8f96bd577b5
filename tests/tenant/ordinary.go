package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// parallel is the number of requests that are under way at a time while a world is created.
const parallel = 32

// ordinary is the part of the cluster that must not notice the tenant.
type ordinary struct {
	options
	client kubernetes.Interface
	edits  int
}

// place is the namespace and the name of an ordinary workload, and of its config.
type place struct{ namespace, name string }

func (o *ordinary) place(i int) place {
	return place{fmt.Sprintf("team-%d", i%o.Namespaces), fmt.Sprintf("web-%d", i)}
}

// create creates the namespaces, configs and workloads. Every second one uses a Secret, and every second pair our own annotation.
func (o *ordinary) create(ctx context.Context) error {
	for i := range o.Namespaces {
		if err := createNamespace(ctx, o.client, o.place(i).namespace); err != nil {
			return err
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i := range o.Ordinary {
		g.Go(func() error {
			p := o.place(i)
			meta := metav1.ObjectMeta{Name: p.name, Namespace: p.namespace}
			var err error
			if i%2 == 0 {
				_, err = o.client.CoreV1().ConfigMaps(p.namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"k": "0"}}, metav1.CreateOptions{})
			} else {
				_, err = o.client.CoreV1().Secrets(p.namespace).Create(ctx, &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"k": "0"}}, metav1.CreateOptions{})
			}
			if err != nil {
				return err
			}
			return o.deploy(ctx, p, i)
		})
	}
	return g.Wait()
}

func (o *ordinary) deploy(ctx context.Context, p place, i int) error {
	from := corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: p.name}}}
	if i%2 != 0 {
		from = corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: p.name}}}
	}
	annotation := "reloader.stakater.com/auto"
	if i/2%2 != 0 {
		annotation = "reroll.dev/auto"
	}
	_, err := o.client.AppsV1().Deployments(p.namespace).Create(ctx, deployment(p, map[string]string{annotation: "true"}, from), metav1.CreateOptions{})
	return err
}

// deployment returns a Deployment of one container.
func deployment(p place, annotations map[string]string, from ...corev1.EnvFromSource) *appsv1.Deployment {
	labels := map[string]string{"app": p.name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: p.name, Namespace: p.namespace, Annotations: annotations},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main", EnvFrom: from}}},
			},
		},
	}
}

func createNamespace(ctx context.Context, client kubernetes.Interface, name string) error {
	_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	return err
}

// editAll edits the config of every ordinary workload once, at the pace of the options, and returns the times at which the API server
// had taken the edits.
func (o *ordinary) editAll(ctx context.Context) (map[place]time.Time, error) {
	o.edits++
	edited := map[place]time.Time{}
	tick := time.NewTicker(o.Pace)
	defer tick.Stop()
	for i := range o.Ordinary {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
		p := o.place(i)
		var err error
		if i%2 == 0 {
			_, err = o.client.CoreV1().ConfigMaps(p.namespace).Patch(ctx, p.name, types.MergePatchType, fmt.Appendf(nil, `{"data":{"k":"%d"}}`, o.edits), metav1.PatchOptions{})
		} else {
			_, err = o.client.CoreV1().Secrets(p.namespace).Patch(ctx, p.name, types.MergePatchType, fmt.Appendf(nil, `{"stringData":{"k":"%d"}}`, o.edits), metav1.PatchOptions{})
		}
		if err != nil {
			return nil, err
		}
		edited[p] = time.Now()
	}
	return edited, nil
}
