package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/reroll-dev/reroll/reloader"
)

func (l *Ledger) configMaps() corev1client.ConfigMapInterface {
	return l.cluster.client.CoreV1().ConfigMaps(l.cluster.Namespace)
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
	for {
		page, err := l.configMaps().List(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("list ConfigMaps of the ledger in %s: %w", l.cluster.Namespace, err)
		}
		for _, m := range page.Items {
			m.ManagedFields = nil
			all = append(all, m)
		}
		if o.Continue = page.Continue; o.Continue == "" {
			return all, nil
		}
	}
}

// put updates the version of a ConfigMap that m names, or creates it if m names none.
func (l *Ledger) put(ctx context.Context, m *corev1.ConfigMap) (written *corev1.ConfigMap, err error) {
	switch {
	case l.cluster.options.DryRun:
		written = m.DeepCopy()
		written.CreationTimestamp = metav1.Now()
	case m.ResourceVersion == "":
		written, err = l.create(ctx, m)
	default:
		written, err = l.configMaps().Update(ctx, m, metav1.UpdateOptions{FieldManager: fieldManager})
	}
	if err != nil {
		return nil, fmt.Errorf("write ConfigMap %s/%s of the ledger: %w", m.Namespace, m.Name, err)
	}
	return written, nil
}

// create creates a ConfigMap. One of its name that lost the ledger's label is set aside.
func (l *Ledger) create(ctx context.Context, m *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	made, err := l.configMaps().Create(ctx, m, metav1.CreateOptions{FieldManager: fieldManager})
	if !apierrors.IsAlreadyExists(err) {
		return made, err
	}
	there, failed := l.configMaps().Get(ctx, m.Name, metav1.GetOptions{})
	if failed != nil || there.Labels[ledgerLabel] == ledgerCurrent {
		return nil, err
	}
	if err := l.setAside(ctx, *there, "it lacks the label "+ledgerSelector); err != nil {
		return nil, err
	}
	return l.configMaps().Create(ctx, m, metav1.CreateOptions{FieldManager: fieldManager})
}

// drop deletes one version of a ConfigMap, unless it is gone.
func (l *Ledger) drop(ctx context.Context, name, version string) error {
	if l.cluster.options.DryRun {
		return nil
	}
	err := l.configMaps().Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete ConfigMap %s/%s of the ledger: %w", l.cluster.Namespace, name, err)
	}
	return nil
}

// setAside logs that a ConfigMap is damaged and keeps it under another name, in place of what was kept there before.
func (l *Ledger) setAside(ctx context.Context, m corev1.ConfigMap, damage string) error {
	sum := sha256.Sum256([]byte(m.Name))
	aside := &corev1.ConfigMap{ObjectMeta: l.meta(damagedStart+hex.EncodeToString(sum[:16]), m.Labels[ledgerNamespace]), Data: m.Data, BinaryData: m.BinaryData}
	aside.Labels[ledgerLabel] = ledgerDamaged
	aside.Annotations = map[string]string{ledgerWasNamed: m.Name}
	l.cluster.logger().Error("a ConfigMap of the ledger is damaged: its entries are lost, and it is kept under another name",
		"configmap", m.Namespace+"/"+m.Name, "damage", damage, "kept", aside.Name)
	if l.cluster.options.DryRun {
		return nil
	}
	err := l.configMaps().Delete(ctx, aside.Name, metav1.DeleteOptions{})
	if err == nil || apierrors.IsNotFound(err) {
		_, err = l.put(ctx, aside)
	}
	if err != nil {
		return fmt.Errorf("keep the damaged ConfigMap %s/%s: %w", m.Namespace, m.Name, err)
	}
	return l.drop(ctx, m.Name, m.ResourceVersion)
}

// sighting is the last version of a ConfigMap that the watch saw, and whether it was deleted then.
type sighting struct {
	version string
	gone    bool
}

// Watch has Changed know what others write, until ctx ends. It returns once it sees what exists. Without it, Changed knows only of an
// ErrLedgerMoved.
func (l *Ledger) Watch(ctx context.Context) error {
	informer := metadatainformer.NewFilteredMetadataInformer(l.cluster.metadata, configResources[reloader.ConfigMap], l.cluster.Namespace, 0, cache.Indexers{},
		func(o *metav1.ListOptions) { o.LabelSelector = ledgerSelector }).Informer()
	if err := informer.SetTransform(ledgerOnly); err != nil {
		return fmt.Errorf("watch the ledger: %w", err)
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { l.see(obj, false) }, UpdateFunc: func(_, obj any) { l.see(obj, false) }, DeleteFunc: func(obj any) { l.see(obj, true) },
	})
	if err != nil {
		return fmt.Errorf("watch the ledger: %w", err)
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return fmt.Errorf("watch the ledger: %w", context.Cause(ctx))
	}
	return nil
}

// ledgerOnly keeps of a ConfigMap what see needs.
func ledgerOnly(obj any) (any, error) {
	if m, ok := obj.(*metav1.PartialObjectMetadata); ok {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: m.Name, Namespace: m.Namespace, ResourceVersion: m.ResourceVersion, Labels: map[string]string{ledgerNamespace: m.Labels[ledgerNamespace]},
		}}, nil
	}
	return obj, nil
}

func (l *Ledger) see(obj any, gone bool) {
	m, ok := lastState(obj).(*metav1.PartialObjectMetadata)
	if !ok || m.Labels[ledgerNamespace] == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := l.seen[m.Labels[ledgerNamespace]]
	if seen == nil {
		seen = map[string]sighting{}
		l.seen[m.Labels[ledgerNamespace]] = seen
	}
	seen[m.Name] = sighting{m.ResourceVersion, gone}
}

// passed reports whether the watch saw something that b does not know, and forgets what it saw. What this process itself deleted may be among
// it.
func (l *Ledger) passed(namespace string, b *book) bool {
	l.mu.Lock()
	seen := l.seen[namespace]
	delete(l.seen, namespace)
	l.mu.Unlock()
	for name, s := range seen {
		held := ""
		if i, n := shardNamed(namespace, name); n > 0 && n == len(b.shards) {
			held = b.shards[i].version
		}
		order, err := resourceversion.CompareResourceVersion(s.version, held)
		switch {
		case held == "" && s.gone:
		case held == "", err != nil, order > 0, order == 0 && s.gone:
			return true
		}
	}
	return false
}
