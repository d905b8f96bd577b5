package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The labels and names that the chart gives the objects of a release.
const (
	partLabel    = "app.kubernetes.io/part-of=reroll" // of any release, whatever nameOverride makes of its name
	releaseLabel = "app.kubernetes.io/instance"
	ingestPort   = "ingest"
	// clusterAnnotation of the Service of ingest is the name of the cluster.
	clusterAnnotation = "reroll.dev/cluster"
)

// ErrNoRelease means that Reroll's own namespace has no release that takes audit events.
var ErrNoRelease = errors.New("no release of Reroll takes audit events there")

// Ingest is how a release takes audit events.
type Ingest struct {
	Release, Namespace, Service string
	// Cluster is the name of the cluster; empty if the Service does not have it.
	Cluster string
	// Type is that of the Service, with what it has of addresses.
	Type           corev1.ServiceType
	ClusterIP      string
	Balancers      []string
	Port, NodePort int32
	// Secret is the name of the Secret with the CA of Reroll, and its key, and Data what that has; nil if Reroll has not created it.
	Secret string
	Data   map[string][]byte
}

// FindIngest returns how the only release in Reroll's own namespace takes audit events. It reads the Secret with the CA. It fails with ErrNoRelease if
// there is none.
func (c *connection) FindIngest(ctx context.Context) (Ingest, error) {
	services, err := c.client.CoreV1().Services(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: partLabel})
	if err != nil {
		return Ingest{}, fmt.Errorf("list Services in namespace %s: %w", c.Namespace, err)
	}
	var found []Ingest
	var names []string
	for i := range services.Items {
		if one, ok := ingestOf(&services.Items[i]); ok {
			found, names = append(found, one), append(names, one.Release)
		}
	}
	switch {
	case len(found) == 0:
		return Ingest{}, fmt.Errorf("namespace %s: %w", c.Namespace, ErrNoRelease)
	case len(found) > 1:
		return Ingest{}, fmt.Errorf("namespace %s has several releases of Reroll: %s", c.Namespace, strings.Join(names, ", "))
	}
	one := found[0]
	secret, err := c.client.CoreV1().Secrets(c.Namespace).Get(ctx, one.Secret, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return one, fmt.Errorf("read Secret %s/%s: %w", c.Namespace, one.Secret, err)
	}
	if err == nil && secret.Labels[managedLabel] == managedValue {
		one.Data = secret.Data
	}
	return one, nil
}

// ingestOf returns what a Service says.
func ingestOf(s *corev1.Service) (Ingest, bool) {
	i := slices.IndexFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == ingestPort })
	if i < 0 || s.Spec.ClusterIP == corev1.ClusterIPNone {
		return Ingest{}, false
	}
	one := Ingest{
		Release: s.Labels[releaseLabel], Namespace: s.Namespace, Service: s.Name, Secret: s.Name + tlsSuffix, Cluster: s.Annotations[clusterAnnotation],
		Type: s.Spec.Type, ClusterIP: s.Spec.ClusterIP,
		Port: s.Spec.Ports[i].Port, NodePort: s.Spec.Ports[i].NodePort,
	}
	for _, balancer := range s.Status.LoadBalancer.Ingress {
		one.Balancers = append(one.Balancers, cmp.Or(balancer.Hostname, balancer.IP))
	}
	return one, true
}

// traces are what other tools that restart workloads leave in a cluster: objects with a label.
var traces = []struct {
	resource schema.GroupVersionResource
	selector string
}{
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "provider=stakater"},
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "app.kubernetes.io/name=reloader"},
	{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "reloader.stakater.com/meta-info=reloader"},
}

// OtherReloaders names objects that belong to another tool that restarts workloads when their configs change, as far as they may be listed.
func (c *connection) OtherReloaders(ctx context.Context) (found []string, err error) {
	for _, trace := range traces {
		list, err := c.metadata.Resource(trace.resource).List(ctx, metav1.ListOptions{LabelSelector: trace.selector, Limit: 10})
		if apierrors.IsForbidden(err) {
			continue
		}
		if err != nil {
			return found, fmt.Errorf("list %s: %w", trace.resource.Resource, err)
		}
		for i := range list.Items {
			found = append(found, fmt.Sprintf("%s %s/%s", trace.resource.Resource, list.Items[i].Namespace, list.Items[i].Name))
		}
	}
	return found, nil
}
