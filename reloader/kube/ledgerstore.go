package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/reroll-dev/reroll/reloader"
)

// Watch has Changed know what others write, until ctx ends. It returns once it has seen what exists. Without it, Changed knows only of an
// error of Put.
func (l *Ledger) Watch(ctx context.Context) error {
	informer := l.cluster.metadataInformer(resourceOf(reloader.ConfigMap), l.cluster.Namespace, func(o *metav1.ListOptions) { o.LabelSelector = ledgerSelector })
	return l.cluster.follow(ctx, "the ledger", informer, on(l.see))
}

// see notes a ConfigMap that this process neither wrote nor knows. It waits while Put writes, so that what Put wrote is known.
func (l *Ledger) see(m *metav1.PartialObjectMetadata, gone bool) {
	namespace, i, ok := pageNamed(m.Name)
	if !ok {
		return
	}
	b := l.book(namespace)
	b.mu.Lock()
	defer b.mu.Unlock()
	held := ""
	if i < len(b.pages) {
		held = b.pages[i].version
	}
	order, err := resourceversion.CompareResourceVersion(m.ResourceVersion, held)
	if held == "" && !gone || held != "" && (err != nil || order > 0 || order == 0 && gone) {
		b.moved.Store(true)
	}
}

func (l *Ledger) meta(name, namespace string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: name, Namespace: l.cluster.Namespace, Labels: map[string]string{managedLabel: managedValue, ledgerLabel: ledgerCurrent}}
	if namespace != "" {
		m.Labels[ledgerNamespace] = namespace
	}
	return m
}

// list returns the ConfigMaps of one namespace, or all.
func (l *Ledger) list(ctx context.Context, namespace string) (all []corev1.ConfigMap, err error) {
	o := metav1.ListOptions{LabelSelector: ledgerSelector, Limit: ledgerPage}
	if namespace != "" {
		o.LabelSelector += "," + ledgerNamespace + "=" + namespace
	}
	err = each(ctx, l.cluster.client.CoreV1().ConfigMaps(l.cluster.Namespace).List, o, func(m *corev1.ConfigMap) error {
		m.ManagedFields = nil
		all = append(all, *m)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list ConfigMaps of the ledger in %s: %w", l.cluster.Namespace, err)
	}
	return all, nil
}

// put updates the version of a ConfigMap that m names, or creates it if m names none.
func (l *Ledger) put(ctx context.Context, m *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	if l.cluster.options.DryRun {
		m.CreationTimestamp = metav1.Now()
		return m, nil
	}
	written, err := upsert(ctx, l.cluster.client.CoreV1().ConfigMaps(m.Namespace), m)
	if err != nil {
		return nil, fmt.Errorf("write ConfigMap %s/%s of the ledger: %w", m.Namespace, m.Name, err)
	}
	return written, nil
}

// drop deletes one version of a ConfigMap, unless it is gone.
func (l *Ledger) drop(ctx context.Context, name, version string) error {
	err := l.cluster.client.CoreV1().ConfigMaps(l.cluster.Namespace).Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete ConfigMap %s/%s of the ledger: %w", l.cluster.Namespace, name, err)
	}
	return nil
}
