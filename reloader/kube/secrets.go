package kube

import (
	"context"
	"crypto/rand"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader/digest"
)

const (
	// KeySecret is the Secret in Reroll's namespace that holds the digest key: the active one under "key", and during a rotation the one
	// before under "previous".
	KeySecret              = "reroll-digest-key"
	activeKey, previousKey = "key", "previous"
	// AdmissionSecret is the Secret in Reroll's namespace that holds the certificate of the admission webhook, if Reroll creates it.
	AdmissionSecret = "reroll-admission-tls"
	// tlsSuffix follows the name of the Service in the name of the Secret that holds the certificate of ingest, if Reroll creates it.
	tlsSuffix = "-tls"
	// managedLabel and managedValue label what Reroll creates.
	managedLabel, managedValue = "app.kubernetes.io/managed-by", "reroll"
)

// DigestKeys returns the ring of the digest keys, and creates the Secret if there is none. A dry run creates nothing: the ring is then that
// of this process alone, and the next one starts with new baselines.
func (c *Cluster) DigestKeys(ctx context.Context) (*digest.Ring, error) {
	ring, err := c.digestKeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("digest key (Secret %s/%s): %w", c.Namespace, KeySecret, err)
	}
	c.ring.Store(ring)
	return ring, nil
}

func (c *Cluster) digestKeys(ctx context.Context) (*digest.Ring, error) {
	secrets := c.client.CoreV1().Secrets(c.Namespace)
	secret, err := secrets.Get(ctx, KeySecret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		key := make([]byte, digest.KeySize)
		_, _ = rand.Read(key) // never fails
		made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: KeySecret, Namespace: c.Namespace}, Data: map[string][]byte{activeKey: key}}
		if c.options.DryRun {
			return digest.NewRing(key)
		}
		if secret, err = secrets.Create(ctx, made, metav1.CreateOptions{FieldManager: fieldManager}); apierrors.IsAlreadyExists(err) {
			secret, err = secrets.Get(ctx, KeySecret, metav1.GetOptions{}) // another process was faster
		}
	}
	if err != nil {
		return nil, err
	}
	keys := []digest.Key{secret.Data[activeKey]}
	if previous := secret.Data[previousKey]; len(previous) > 0 {
		keys = append(keys, previous)
	}
	return digest.NewRing(keys...)
}

// Certificate is where a managed certificate is stored: a Secret in Reroll's namespace. Processes that only present the certificate mount it
// without the key of the CA.
type Certificate struct {
	cluster     *Cluster
	use, secret string
}

// IngestCertificate returns the place of the certificate of ingest, for the Service of that name.
func (c *Cluster) IngestCertificate(service string) Certificate {
	return Certificate{c, "ingest", service + tlsSuffix}
}

// AdmissionCertificate returns the place of the certificate of the admission webhook.
func (c *Cluster) AdmissionCertificate() Certificate {
	return Certificate{c, "admission", AdmissionSecret}
}

// Load returns the data of the Secret and its version; nil and "" if there is none.
func (s Certificate) Load(ctx context.Context) (map[string][]byte, string, error) {
	secret, err := s.cluster.vital.CoreV1().Secrets(s.cluster.Namespace).Get(ctx, s.secret, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, "", nil
	case err != nil:
		return nil, "", err
	case secret.Labels[managedLabel] != managedValue:
		return nil, "", fmt.Errorf("secret %s/%s was not created by Reroll: delete it, or set %s.tlsCert to its certificate (%[3]s.tls.existingSecret in the chart)",
			secret.Namespace, secret.Name, s.use)
	}
	return secret.Data, secret.ResourceVersion, nil
}

// Save writes the Secret if it still has that version, or creates it if there was none.
func (s Certificate) Save(ctx context.Context, data map[string][]byte, version string) error {
	metadata := metav1.ObjectMeta{Name: s.secret, Namespace: s.cluster.Namespace, ResourceVersion: version, Labels: map[string]string{managedLabel: managedValue}}
	_, err := upsert(ctx, s.cluster.vital.CoreV1().Secrets(s.cluster.Namespace), &corev1.Secret{ObjectMeta: metadata, Type: corev1.SecretTypeTLS, Data: data})
	return err
}
