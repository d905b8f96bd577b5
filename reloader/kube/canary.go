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

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// maxCanaryAddresses bounds the API servers that are distinguished.
	maxCanaryAddresses = 16
	// auditIDHeader is where a client gives a request its audit ID.
	auditIDHeader = "Audit-ID"
	// provenKey is the key of the canary that says that one has come back. A field manager of its own keeps it when the canary is applied
	// without it.
	provenKey, provenManager = "proven", "reroll-proven"
)

// CanaryAddresses returns the URLs of the cluster's API servers, sorted and at most 16: those that the EndpointSlice kubernetes
// names. Where it may not be read, or names none, it is the one URL that we are connected to.
func (c *connection) CanaryAddresses(ctx context.Context) ([]string, error) {
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

// TouchCanary writes the ConfigMap or Secret CanaryName, or creates it, through the API server at a URL of CanaryAddresses. The request has the
// audit ID id. Once proven was true, the canary says so for good, and so does the answer.
func (c *connection) TouchCanary(ctx context.Context, address string, kind reloader.ConfigKind, id string, proven bool) (everProven bool, err error) {
	config, err := c.configFor(address)
	if err != nil {
		return false, err
	}
	// Making a client is cheap: connections belong to the transport, which all clients of one configuration share.
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		return false, fmt.Errorf("API server %s: %w", address, err)
	}
	value := func(text string) any {
		if kind == reloader.Secret {
			return []byte(text)
		}
		return text
	}
	data, manager := map[string]any{"touched": value(time.Now().UTC().Format(time.RFC3339Nano))}, fieldManager
	if proven {
		data[provenKey], manager = value("true"), provenManager
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": kind, "data": data,
		"metadata": map[string]any{"name": CanaryName, "labels": map[string]string{managedLabel: managedValue}},
	})
	if err != nil {
		return false, fmt.Errorf("encode %s: %w", CanaryName, err)
	}
	var answer struct{ Data map[string]string }
	raw, err := client.RESTClient().Patch(types.ApplyPatchType).Namespace(c.Namespace).Resource(kind.Info().Resource).Name(CanaryName).
		Param("fieldManager", manager).Param("force", "true").SetHeader(auditIDHeader, id).Body(body).MaxRetries(0).DoRaw(ctx)
	if err == nil {
		err = json.Unmarshal(raw, &answer)
	}
	if err != nil {
		return false, fmt.Errorf("write %s %s/%s through %s: %w", kind, c.Namespace, CanaryName, address, err)
	}
	_, everProven = answer.Data[provenKey]
	return everProven, nil
}

// configFor returns our access, through the API server at another address. Its certificate must be good for the name that we know
// the cluster by, since addresses come and go.
func (c *connection) configFor(address string) (*rest.Config, error) {
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
