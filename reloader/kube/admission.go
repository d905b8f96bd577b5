package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PublishAdmission makes a bundle the CA of every webhook of a MutatingWebhookConfiguration, unless it is nil, and a path the one at which API
// servers call.
func (c *connection) PublishAdmission(ctx context.Context, configuration string, bundle []byte, path string) error {
	configurations := c.vital.AdmissionregistrationV1().MutatingWebhookConfigurations()
	found, err := configurations.Get(ctx, configuration, metav1.GetOptions{})
	if err != nil {
		return err
	}
	var changed []any
	for _, webhook := range found.Webhooks {
		if config := published(webhook.ClientConfig, bundle, path); len(config) > 0 {
			changed = append(changed, map[string]any{"name": webhook.Name, "clientConfig": config})
		}
	}
	if len(changed) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": found.ResourceVersion}, "webhooks": changed})
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	_, err = configurations.Patch(ctx, configuration, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	return err
}

// published returns the fields of a clientConfig that publish a bundle, unless that is nil, and a path; none if both are there.
func published(config admissionregistrationv1.WebhookClientConfig, bundle []byte, path string) map[string]any {
	changed := map[string]any{}
	if bundle != nil && !bytes.Equal(config.CABundle, bundle) {
		changed["caBundle"] = bundle
	}
	if s := config.Service; s != nil && (s.Path == nil || *s.Path != path) {
		changed["service"] = map[string]any{"path": path}
	}
	if config.URL == nil {
		return changed
	}
	if u, err := url.Parse(*config.URL); err == nil && u.Path != path {
		u.Path = path
		changed["url"] = u.String()
	}
	return changed
}
