package kube

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const tlsSuffix = "-tls"

// caKeyKey is the key of the CA among what is kept; that of its certificates is ca.crt. In the Secret of the CA they are tls.key and tls.crt.
const caKeyKey = "ca.key"

// IngestCertificate is where the managed certificate of ingest is kept: two Secrets of Reroll's namespace, since processes that show the certificate
// do not need the key of the CA. NAME-ca has the CA in tls.crt and tls.key, and NAME-tls has tls.crt, tls.key and ca.crt.
type IngestCertificate struct {
	cluster *Cluster
	name    string
}

// IngestCertificate returns the place of the certificate for the Service of that name.
func (c *Cluster) IngestCertificate(name string) IngestCertificate { return IngestCertificate{c, name} }

// Load returns the data of both Secrets and their versions; neither if there are none.
func (i IngestCertificate) Load(ctx context.Context) (map[string][]byte, string, error) {
	ca, caVersion, err := i.cluster.loadSecret(ctx, i.name+caSuffix)
	if err != nil {
		return nil, "", err
	}
	pair, pairVersion, ours, err := i.cluster.loadOwnSecret(ctx, i.name+tlsSuffix)
	if err != nil || caVersion+pairVersion == "" {
		return nil, "", err
	}
	if pairVersion != "" && !ours {
		return nil, "", fmt.Errorf("the Secret %s/%s is not one that Reroll made: delete it, or give its certificate by --ingest-tls-cert (ingest.tls.existingSecret in the chart)",
			i.cluster.Namespace, i.name+tlsSuffix)
	}
	return map[string][]byte{
		corev1.ServiceAccountRootCAKey: ca[corev1.TLSCertKey], caKeyKey: ca[corev1.TLSPrivateKeyKey],
		corev1.TLSCertKey: pair[corev1.TLSCertKey], corev1.TLSPrivateKeyKey: pair[corev1.TLSPrivateKeyKey],
	}, caVersion + "/" + pairVersion, nil
}

// Save writes both Secrets if they are still of these versions, and makes those that were not there. The CA is written first: a certificate is worth
// nothing without it.
func (i IngestCertificate) Save(ctx context.Context, data map[string][]byte, version string) error {
	caVersion, pairVersion, _ := strings.Cut(version, "/")
	cas := data[corev1.ServiceAccountRootCAKey]
	ca := map[string][]byte{corev1.TLSCertKey: cas, corev1.TLSPrivateKeyKey: data[caKeyKey]}
	if err := i.cluster.saveSecret(ctx, i.name+caSuffix, corev1.SecretTypeTLS, ca, caVersion); err != nil {
		return err
	}
	pair := map[string][]byte{
		corev1.ServiceAccountRootCAKey: cas, corev1.TLSCertKey: data[corev1.TLSCertKey], corev1.TLSPrivateKeyKey: data[corev1.TLSPrivateKeyKey],
	}
	return i.cluster.saveSecret(ctx, i.name+tlsSuffix, corev1.SecretTypeTLS, pair, pairVersion)
}

// Publish does nothing: whoever sets up an API server takes the CA from the Secret.
func (i IngestCertificate) Publish(context.Context, []byte) error { return nil }

// loadSecret returns the data of a Secret of Reroll's namespace and its version; neither if there is none.
func (c *Cluster) loadSecret(ctx context.Context, name string) (map[string][]byte, string, error) {
	data, version, _, err := c.loadOwnSecret(ctx, name)
	return data, version, err
}

// loadOwnSecret is loadSecret, and says whether saveSecret has made it.
func (c *Cluster) loadOwnSecret(ctx context.Context, name string) (data map[string][]byte, version string, ours bool, err error) {
	secret, err := c.vital.CoreV1().Secrets(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, "", false, nil
	}
	if err != nil {
		return nil, "", false, err
	}
	return secret.Data, secret.ResourceVersion, secret.Labels[managedLabel] == managedValue, nil
}

// saveSecret writes a Secret of Reroll's namespace if it is still of that version, or makes it if there was none.
func (c *Cluster) saveSecret(ctx context.Context, name string, kind corev1.SecretType, data map[string][]byte, version string) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.Namespace, ResourceVersion: version, Labels: map[string]string{managedLabel: managedValue}},
		Type:       kind, Data: data,
	}
	if version == "" {
		_, err := c.vital.CoreV1().Secrets(c.Namespace).Create(ctx, secret, metav1.CreateOptions{FieldManager: "reroll"})
		return err
	}
	_, err := c.vital.CoreV1().Secrets(c.Namespace).Update(ctx, secret, metav1.UpdateOptions{FieldManager: "reroll"})
	return err
}
