package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/reloader"
)

// CanaryName is the name of the objects in Reroll's own namespace, one of each kind, that are touched to see whether their audit events come in.
const CanaryName = "reroll-canary"

const (
	// apiServers is the EndpointSlice in which the API servers of a cluster enter themselves.
	apiServers = "kubernetes"
	// maxCanaryAddresses bounds the API servers that are told apart.
	maxCanaryAddresses = 16
	// auditIDHeader is where a client gives a request its audit ID.
	auditIDHeader = "Audit-ID"
	// managedLabel and managedValue label what Reroll makes.
	managedLabel = "app.kubernetes.io/managed-by"
	managedValue = "reroll"
	// provenKey is the key of the canary that says that one has come back.
	provenKey = "proven"
)

// CanaryAddresses returns the URLs of the cluster's API servers, sorted and at most 16: those that the EndpointSlice kubernetes
// names. Where it may not be read, or names none, it is the one URL that we are connected to.
func (c *Cluster) CanaryAddresses(ctx context.Context) ([]string, error) {
	slice, err := c.vital.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).Get(ctx, apiServers, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("read EndpointSlice %s/%s: %w", metav1.NamespaceDefault, apiServers, err)
	}
	if err == nil {
		if addresses := addressesOf(slice); len(addresses) > 0 {
			return addresses, nil
		}
	}
	return []string{c.config.Host}, nil
}

// addressesOf returns the URLs of all endpoints of a slice that serve HTTPS and are not known to be unready.
func addressesOf(slice *discoveryv1.EndpointSlice) []string {
	var addresses []string
	for _, port := range slice.Ports {
		if port.Port == nil || port.Name != nil && *port.Name != "https" {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			if ready := endpoint.Conditions.Ready; ready != nil && !*ready {
				continue
			}
			for _, address := range endpoint.Addresses {
				addresses = append(addresses, "https://"+net.JoinHostPort(address, strconv.Itoa(int(*port.Port))))
			}
		}
	}
	slices.Sort(addresses)
	addresses = slices.Compact(addresses)
	return addresses[:min(len(addresses), maxCanaryAddresses)]
}

// TouchCanary writes the ConfigMap or Secret CanaryName, making it if there is none, through the API server at a URL of CanaryAddresses. The
// request that writes has the audit ID id. What proven says is kept from the first time that it is true on, and returned.
func (c *Cluster) TouchCanary(ctx context.Context, address string, kind reloader.ConfigKind, id string, proven bool) (everProven bool, err error) {
	config, err := c.configFor(address)
	if err != nil {
		return false, err
	}
	// Making a client is cheap: connections belong to the transport, which all clients of one configuration share.
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		return false, fmt.Errorf("API server %s: %w", address, err)
	}
	canary := canaryOf(kind, c.Namespace, proven)
	body, err := json.Marshal(canary)
	if err != nil {
		return false, fmt.Errorf("encode %s: %w", CanaryName, err)
	}
	err = c.writeCanary(ctx, client.RESTClient().Patch(types.MergePatchType).Name(CanaryName), id, body, canary)
	if apierrors.IsNotFound(err) {
		err = c.writeCanary(ctx, client.RESTClient().Post().SetHeader("Content-Type", "application/json"), id, body, canary)
	}
	if err != nil {
		return false, fmt.Errorf("write %s %s/%s through %s: %w", kind, c.Namespace, CanaryName, address, err)
	}
	return isProven(canary), nil
}

// canaryOf returns the canary of a kind as it is written now.
func canaryOf(kind reloader.ConfigKind, namespace string, proven bool) runtime.Object {
	data := map[string]string{"touched": time.Now().UTC().Format(time.RFC3339Nano)}
	if proven {
		data[provenKey] = "true"
	}
	meta := metav1.ObjectMeta{Name: CanaryName, Namespace: namespace, Labels: map[string]string{managedLabel: managedValue}}
	of := metav1.TypeMeta{APIVersion: "v1", Kind: string(kind)}
	if kind == reloader.Secret {
		return &corev1.Secret{TypeMeta: of, ObjectMeta: meta, StringData: data}
	}
	return &corev1.ConfigMap{TypeMeta: of, ObjectMeta: meta, Data: data}
}

// isProven reports whether a canary that was read says that one has come back.
func isProven(canary runtime.Object) bool {
	switch canary := canary.(type) {
	case *corev1.Secret:
		return string(canary.Data[provenKey]) == "true"
	case *corev1.ConfigMap:
		return canary.Data[provenKey] == "true"
	}
	return false
}

// writeCanary sends a request about canaries of the kind of answer in Reroll's own namespace, and reads the canary as it is then into answer.
func (c *Cluster) writeCanary(ctx context.Context, r *rest.Request, id string, body []byte, answer runtime.Object) error {
	resource := "configmaps"
	if _, secret := answer.(*corev1.Secret); secret {
		resource = "secrets"
	}
	return r.Namespace(c.Namespace).Resource(resource).Param("fieldManager", "reroll").
		SetHeader(auditIDHeader, id).Body(body).MaxRetries(0).Do(ctx).Into(answer)
}

// configFor returns our access, through the API server at another address. Its certificate must be good for the name that we know
// the cluster by, since addresses come and go.
func (c *Cluster) configFor(address string) (*rest.Config, error) {
	config := rest.CopyConfig(c.config)
	config.QPS, config.Timeout = -1, vitalTime
	if address == c.config.Host {
		return config, nil
	}
	known, _, err := rest.DefaultServerUrlFor(c.config)
	if err != nil {
		return nil, fmt.Errorf("API server %s: %w", c.config.Host, err)
	}
	config.Host = address
	config.ServerName = cmp.Or(c.config.ServerName, known.Hostname(), "kubernetes.default.svc")
	return config, nil
}
