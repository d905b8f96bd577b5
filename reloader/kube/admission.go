package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/reloader/strategy"
)

// AdmissionSecret is the Secret in Reroll's namespace that holds the certificate of the admission webhook, if Reroll makes it.
const AdmissionSecret = "reroll-admission-tls"

// AdmissionCertificate is where a managed certificate of the admission webhook is kept: AdmissionSecret, and the MutatingWebhookConfiguration
// through which API servers call the webhook.
type AdmissionCertificate struct {
	cluster       *Cluster
	configuration string
}

// AdmissionCertificate returns the place of the certificate for the MutatingWebhookConfiguration of that name.
func (c *Cluster) AdmissionCertificate(configuration string) AdmissionCertificate {
	return AdmissionCertificate{c, configuration}
}

// Load returns the data of the Secret and its version; neither if there is none.
func (a AdmissionCertificate) Load(ctx context.Context) (map[string][]byte, string, error) {
	return a.cluster.loadSecret(ctx, AdmissionSecret)
}

// Save writes the Secret if it is still of that version, or makes it if there was none.
func (a AdmissionCertificate) Save(ctx context.Context, data map[string][]byte, version string) error {
	return a.cluster.saveSecret(ctx, AdmissionSecret, corev1.SecretTypeOpaque, data, version)
}

// Publish makes a bundle the CA of every webhook of the configuration, unless it is nil, and a path the one at which API servers call.
func (a AdmissionCertificate) Publish(ctx context.Context, bundle []byte, path string) error {
	configurations := a.cluster.vital.AdmissionregistrationV1().MutatingWebhookConfigurations()
	found, err := configurations.Get(ctx, a.configuration, metav1.GetOptions{})
	if err != nil {
		return err
	}
	ops := []strategy.Op{{Op: "test", Path: "/metadata/resourceVersion", Value: found.ResourceVersion}}
	for i, webhook := range found.Webhooks {
		ops = append(ops, published(webhook.ClientConfig, fmt.Sprintf("/webhooks/%d/clientConfig", i), bundle, path)...)
	}
	if len(ops) == 1 {
		return nil
	}
	patch, err := json.Marshal(ops)
	if err != nil {
		return fmt.Errorf("encode JSON patch: %w", err)
	}
	_, err = configurations.Patch(ctx, a.configuration, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: "reroll"})
	return err
}

// published returns the operations that publish a bundle, unless it is nil, and a path in the clientConfig at a place; none if both are there.
func published(config admissionregistrationv1.WebhookClientConfig, at string, bundle []byte, path string) []strategy.Op {
	var ops []strategy.Op
	if bundle != nil && !bytes.Equal(config.CABundle, bundle) {
		ops = append(ops, strategy.Op{Op: "add", Path: at + "/caBundle", Value: bundle})
	}
	if s := config.Service; s != nil && (s.Path == nil || *s.Path != path) {
		ops = append(ops, strategy.Op{Op: "add", Path: at + "/service/path", Value: path})
	}
	if config.URL == nil {
		return ops
	}
	if u, err := url.Parse(*config.URL); err == nil && u.Path != path {
		u.Path = path
		ops = append(ops, strategy.Op{Op: "add", Path: at + "/url", Value: u.String()})
	}
	return ops
}
