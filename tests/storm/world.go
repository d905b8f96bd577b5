package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"golang.org/x/sync/errgroup"
)

// namespace is where everything is.
const namespace = "storm"

// parallel is how many requests are under way at a time.
const parallel = 32

// calm is the ConfigMap of the bystanders.
const calm = "calm"

// world is what the cluster holds.
type world struct {
	options
	client kubernetes.Interface
}

func workloadName(i int) string  { return fmt.Sprintf("web-%d", i) }
func bystanderName(i int) string { return fmt.Sprintf("bystander-%d", i) }
func secretName(i int) string    { return fmt.Sprintf("secret-%d", i) }

// uses returns the Secrets of a workload: one of its own, and one that it shares with its neighbour.
func (w *world) uses(workload int) []int { return []int{workload, w.Workloads + workload/2} }

func (w *world) create(ctx context.Context) error {
	room := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := w.client.CoreV1().Namespaces().Create(ctx, room, metav1.CreateOptions{}); err != nil {
		return err
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: calm}, Data: map[string]string{"k": "0"}}
	if _, err := w.client.CoreV1().ConfigMaps(namespace).Create(ctx, config, metav1.CreateOptions{}); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i := range w.Secrets {
		g.Go(func() error {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secretName(i)}, StringData: map[string]string{"k": "0"}}
			_, err := w.client.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{})
			return err
		})
	}
	for i := range w.Workloads {
		var from []corev1.EnvFromSource
		for _, s := range w.uses(i) {
			from = append(from, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: secretName(s)}}})
		}
		g.Go(func() error { return w.deploy(ctx, workloadName(i), from) })
	}
	for i := range w.Bystanders {
		from := []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: calm}}}}
		g.Go(func() error { return w.deploy(ctx, bystanderName(i), from) })
	}
	return g.Wait()
}

func (w *world) deploy(ctx context.Context, name string, from []corev1.EnvFromSource) error {
	labels := map[string]string{"app": name}
	_, err := w.client.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"reloader.stakater.com/auto": "true"}},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main", EnvFrom: from}}},
			},
		},
	}, metav1.CreateOptions{})
	return err
}

// strike changes every Secret, those of neighbours one after the other.
func (w *world) strike(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for pair := range w.Workloads / 2 {
		for _, s := range []int{2 * pair, 2*pair + 1, w.Workloads + pair} {
			g.Go(func() error {
				_, err := w.client.CoreV1().Secrets(namespace).Patch(ctx, secretName(s), types.StrategicMergePatchType,
					[]byte(`{"stringData":{"k":"1"}}`), metav1.PatchOptions{})
				return err
			})
		}
	}
	return g.Wait()
}

// stir changes the ConfigMap of the bystanders.
func (w *world) stir(ctx context.Context) error {
	_, err := w.client.CoreV1().ConfigMaps(namespace).Patch(ctx, calm, types.MergePatchType, []byte(`{"data":{"k":"1"}}`), metav1.PatchOptions{})
	return err
}
