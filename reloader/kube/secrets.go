package kube

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

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
	// caKeyKey is the key of the CA in what IngestCertificate loads and saves; its certificates are in ca.crt.
	caKeyKey, tlsSuffix = "ca.key", "-tls"
	// managedLabel and managedValue label what Reroll creates.
	managedLabel, managedValue = "app.kubernetes.io/managed-by", "reroll"
)

// DigestKeys returns the ring of the digest keys, and creates the Secret if there is none. A dry run creates nothing: the ring is then that
// of this process alone, and the next one starts with new baselines.
func (c *keys) DigestKeys(ctx context.Context) (*digest.Ring, error) {
	ring, err := c.digestKeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("digest key (Secret %s/%s): %w", c.Namespace, KeySecret, err)
	}
	c.ring.Store(ring)
	return ring, nil
}

func (c *keys) digestKeys(ctx context.Context) (*digest.Ring, error) {
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

// signer returns the ring of the digest keys, which is read once.
func (c *keys) signer(ctx context.Context) (*digest.Ring, error) {
	if ring := c.ring.Load(); ring != nil {
		return ring, nil
	}
	return c.DigestKeys(ctx)
}

// IngestCertificate is where the managed certificate of ingest is stored: two Secrets of Reroll's namespace, since processes that present the
// certificate do not need the key of the CA. NAME-ca has the CA in tls.crt and tls.key, and NAME-tls has tls.crt, tls.key and ca.crt.
type IngestCertificate struct {
	keys *keys
	name string
}

// IngestCertificate returns the place of the certificate for the Service of that name.
func (c *keys) IngestCertificate(name string) IngestCertificate { return IngestCertificate{c, name} }

// Load returns the data of both Secrets and their versions; nil and "" if there is none of them.
func (i IngestCertificate) Load(ctx context.Context) (map[string][]byte, string, error) {
	ca, err := i.keys.loadSecret(ctx, i.name+caSuffix)
	if err != nil {
		return nil, "", err
	}
	pair, err := i.keys.loadSecret(ctx, i.name+tlsSuffix)
	if err != nil || ca.ResourceVersion+pair.ResourceVersion == "" {
		return nil, "", err
	}
	if pair.ResourceVersion != "" && pair.Labels[managedLabel] != managedValue {
		return nil, "", fmt.Errorf("secret %s/%s was not created by Reroll: delete it, or set ingest.tlsCert to its certificate (ingest.tls.existingSecret in the chart)",
			i.keys.Namespace, i.name+tlsSuffix)
	}
	return map[string][]byte{
		corev1.ServiceAccountRootCAKey: ca.Data[corev1.TLSCertKey], caKeyKey: ca.Data[corev1.TLSPrivateKeyKey],
		corev1.TLSCertKey: pair.Data[corev1.TLSCertKey], corev1.TLSPrivateKeyKey: pair.Data[corev1.TLSPrivateKeyKey],
	}, ca.ResourceVersion + "/" + pair.ResourceVersion, nil
}

// Save writes both Secrets if they still have these versions, and creates those that did not exist. It begins with the CA: a certificate is
// useless without it.
func (i IngestCertificate) Save(ctx context.Context, data map[string][]byte, version string) error {
	caVersion, pairVersion, _ := strings.Cut(version, "/")
	cas := data[corev1.ServiceAccountRootCAKey]
	ca := map[string][]byte{corev1.TLSCertKey: cas, corev1.TLSPrivateKeyKey: data[caKeyKey]}
	if err := i.keys.saveSecret(ctx, i.name+caSuffix, corev1.SecretTypeTLS, ca, caVersion); err != nil {
		return err
	}
	pair := map[string][]byte{
		corev1.ServiceAccountRootCAKey: cas, corev1.TLSCertKey: data[corev1.TLSCertKey], corev1.TLSPrivateKeyKey: data[corev1.TLSPrivateKeyKey],
	}
	return i.keys.saveSecret(ctx, i.name+tlsSuffix, corev1.SecretTypeTLS, pair, pairVersion)
}

// Publish does nothing: setting up an API server takes the CA from the Secret.
func (i IngestCertificate) Publish(context.Context, []byte) error { return nil }

// AdmissionCertificate is where a managed certificate of the admission webhook is stored: AdmissionSecret, and the
// MutatingWebhookConfiguration through which API servers call the webhook.
type AdmissionCertificate struct {
	keys          *keys
	configuration string
}

// AdmissionCertificate returns the place of the certificate for the MutatingWebhookConfiguration of that name.
func (c *keys) AdmissionCertificate(configuration string) AdmissionCertificate {
	return AdmissionCertificate{c, configuration}
}

// Load returns the data of the Secret and its version; nil and "" if there is none.
func (a AdmissionCertificate) Load(ctx context.Context) (map[string][]byte, string, error) {
	secret, err := a.keys.loadSecret(ctx, AdmissionSecret)
	return secret.Data, secret.ResourceVersion, err
}

// Save writes the Secret if it still has that version, or creates it if there was none.
func (a AdmissionCertificate) Save(ctx context.Context, data map[string][]byte, version string) error {
	return a.keys.saveSecret(ctx, AdmissionSecret, corev1.SecretTypeOpaque, data, version)
}

// loadSecret returns a Secret of Reroll's namespace; an empty one, without a version, if there is none.
func (c *keys) loadSecret(ctx context.Context, name string) (corev1.Secret, error) {
	secret, err := c.vital.CoreV1().Secrets(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return corev1.Secret{}, nil
	}
	if err != nil {
		return corev1.Secret{}, err
	}
	return *secret, nil
}

// saveSecret writes a Secret of Reroll's namespace if it still has that version, or creates it if there was none.
func (c *keys) saveSecret(ctx context.Context, name string, kind corev1.SecretType, data map[string][]byte, version string) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.Namespace, ResourceVersion: version, Labels: map[string]string{managedLabel: managedValue}},
		Type:       kind, Data: data,
	}
	var err error
	if version == "" {
		_, err = c.vital.CoreV1().Secrets(c.Namespace).Create(ctx, secret, metav1.CreateOptions{FieldManager: fieldManager})
	} else {
		_, err = c.vital.CoreV1().Secrets(c.Namespace).Update(ctx, secret, metav1.UpdateOptions{FieldManager: fieldManager})
	}
	return err
}
