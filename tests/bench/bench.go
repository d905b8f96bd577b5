package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

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
			_, err := b.client.AppsV1().Deployments(ns).Create(ctx, line.Deployment(ns, fmt.Sprintf("web-%d", i), annotations, line.FromConfigMap(config)), metav1.CreateOptions{})
			return err
		})
	}
	return g.Wait()
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
