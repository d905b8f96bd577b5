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

// KeySecret is the Secret in Reroll's namespace that holds the digest key: the active one under "key", and during a rotation the
// one before under "previous".
const KeySecret = "reroll-digest-key"

const (
	activeKey   = "key"
	previousKey = "previous"
)

// DigestKeys returns the ring of the digest keys, making the Secret if there is none. In a dry run nothing is made; the ring then
// is of this process alone, and the next one starts with new baselines.
func (c *Cluster) DigestKeys(ctx context.Context) (*digest.Ring, error) {
	secret, err := c.client.CoreV1().Secrets(c.Namespace).Get(ctx, KeySecret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		secret, err = c.makeKey(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("digest key (Secret %s/%s): %w", c.Namespace, KeySecret, err)
	}
	keys := []digest.Key{secret.Data[activeKey]}
	if previous := secret.Data[previousKey]; len(previous) > 0 {
		keys = append(keys, previous)
	}
	ring, err := digest.NewRing(keys...)
	if err != nil {
		return nil, fmt.Errorf("digest key (Secret %s/%s): %w", c.Namespace, KeySecret, err)
	}
	c.ring.Store(ring)
	return ring, nil
}

// signer returns the ring of the digest keys, which is read once.
func (c *Cluster) signer(ctx context.Context) (*digest.Ring, error) {
	if ring := c.ring.Load(); ring != nil {
		return ring, nil
	}
	return c.DigestKeys(ctx)
}

// makeKey creates the Secret with a random key. If another process is faster, its key is taken.
func (c *Cluster) makeKey(ctx context.Context) (*corev1.Secret, error) {
	key := make([]byte, digest.KeySize)
	_, _ = rand.Read(key) // never fails
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: KeySecret, Namespace: c.Namespace},
		Data:       map[string][]byte{activeKey: key},
	}
	if c.options.DryRun {
		return secret, nil
	}
	made, err := c.client.CoreV1().Secrets(c.Namespace).Create(ctx, secret, metav1.CreateOptions{FieldManager: "reroll"})
	if apierrors.IsAlreadyExists(err) {
		return c.client.CoreV1().Secrets(c.Namespace).Get(ctx, KeySecret, metav1.GetOptions{})
	}
	return made, err
}
