package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/reloader/digest"
)

const (
	// ManifestLabel is on every Secret that holds the manifest of a Job between its deletion and its creation.
	ManifestLabel = "reroll.dev/job-manifest"
	// ManifestType is the type of these Secrets.
	ManifestType corev1.SecretType = "reroll.dev/job"
	// backupKey and signatureKey are the keys of such a Secret. Without the signature, a user who may write Secrets in Reroll's namespace
	// could have Jobs created anywhere.
	backupKey, signatureKey = "backup", "signature"
	// lateTime is for how long after it was sent a request to delete a Job may still be carried out, although its sender died: by default,
	// an API server gives a request a minute.
	lateTime = 5 * time.Minute
)

// backup is a Job that must be created again, and what a Secret holds. It may have literal values of environment variables: it goes nowhere else.
type backup struct {
	Job *unstructured.Unstructured `json:"job"`
	// UID and Version are those of the Job that is deleted, and in no other version, and Kept is when the request for that was about to be sent.
	UID     types.UID `json:"uid"`
	Version string    `json:"resourceVersion"`
	Kept    time.Time `json:"kept"`
	// secret is the version of the Secret.
	secret string
}

// String names the Job, and nothing of its content.
func (b backup) String() string { return "Job " + b.Job.GetNamespace() + "/" + b.Job.GetName() }

func (b backup) secretName() string { return "reroll-job-" + string(b.UID) }

// backUp stores job before old is deleted, in place of what was stored for old before. A Job that does not fit into a Secret is refused as
// too large.
func (c *Cluster) backUp(ctx context.Context, job, old *unstructured.Unstructured) (backup, error) {
	b := backup{Job: job, UID: old.GetUID(), Version: old.GetResourceVersion(), Kept: time.Now().UTC()}
	secret, err := b.secretIn(c.Namespace, c.ring.Load())
	if err != nil {
		return backup{}, err
	}
	secrets := c.client.CoreV1().Secrets(c.Namespace)
	stored, err := secrets.Create(ctx, secret, metav1.CreateOptions{FieldManager: fieldManager})
	if apierrors.IsAlreadyExists(err) {
		stored, err = secrets.Update(ctx, secret, metav1.UpdateOptions{FieldManager: fieldManager})
	}
	if apierrors.IsNotFound(err) { // another process has recreated the Job meanwhile
		return backup{}, apierrors.NewConflict(batchv1.Resource("jobs"), old.GetName(), err)
	}
	if apierrors.IsForbidden(err) {
		return backup{}, fmt.Errorf("keep %s in Secret %s/%s: %w", b, c.Namespace, secret.Name, err)
	}
	if err != nil { // any other kind of error is one of the Secret, not of the Job
		return backup{}, fmt.Errorf("keep %s in Secret %s/%s: %v", b, c.Namespace, secret.Name, err)
	}
	b.secret = stored.ResourceVersion
	return b, nil
}

func (b backup) secretIn(namespace string, ring *digest.Ring) (*corev1.Secret, error) {
	data, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", b, err)
	}
	signature := ring.Signatures([]byte(b.secretName()), data)[0]
	if size := len(data) + len(signature); size > corev1.MaxSecretSize {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"%s cannot be recreated: it takes %d bytes, and the Secret that keeps it meanwhile can hold %d", b, size, corev1.MaxSecretSize))
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: b.secretName(), Namespace: namespace, Labels: map[string]string{ManifestLabel: "true"}},
		Type:       ManifestType,
		Data:       map[string][]byte{backupKey: data, signatureKey: signature},
	}, nil
}

// backupIn returns the backup in a Secret that Reroll made. Its errors quote nothing of it.
func backupIn(secret *corev1.Secret, ring *digest.Ring) (backup, error) {
	if !ring.Signed(secret.Data[signatureKey], []byte(secret.Name), secret.Data[backupKey]) {
		return backup{}, fmt.Errorf("secret %s/%s: it is not signed with Reroll's digest key, and Reroll creates no Job of it: delete the Secret; "+
			"if Reroll made it before the key was lost, create the Job by hand", secret.Namespace, secret.Name)
	}
	b := backup{secret: secret.ResourceVersion}
	if json.Unmarshal(secret.Data[backupKey], &b) != nil || b.Job == nil {
		return backup{}, fmt.Errorf("secret %s/%s: it holds no Job", secret.Namespace, secret.Name)
	}
	return b, nil
}

// keeps reports whether there is a backup of a Job, which is thus being recreated.
func (c *Cluster) keeps(ctx context.Context, job *unstructured.Unstructured) bool {
	_, err := c.client.CoreV1().Secrets(c.Namespace).Get(ctx, backup{UID: job.GetUID()}.secretName(), metav1.GetOptions{})
	return err == nil
}

// dropBackup deletes this version of a backup; what it cannot delete is left for RecoverJobs.
func (c *Cluster) dropBackup(ctx context.Context, b backup) error {
	err := c.client.CoreV1().Secrets(c.Namespace).Delete(ctx, b.secretName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &b.secret}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete Secret %s/%s, which keeps %s: %v", c.Namespace, b.secretName(), b, err)
	}
	return nil
}

// RecoverJobs completes every recreation of a Job that was left half done, also by another process: it creates the Job again if the old one is
// gone or being deleted. If the old one exists as it was, its deletion may still be under way: the backup is kept until the Job has another
// version, or for five minutes. It tries each Job once and returns the errors of all.
//
// The process that rolls workloads calls DigestKeys, and then RecoverJobs before it watches them, and then every minute; no other process does.
//
// A Job that a user deletes after its backup was stored and before it was dropped is created again.
func (c *Cluster) RecoverJobs(ctx context.Context) error {
	stored, err := c.client.CoreV1().Secrets(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: ManifestLabel})
	if err != nil {
		return fmt.Errorf("list backups of Jobs in namespace %s: %w", c.Namespace, err)
	}
	var errs []error
	for i := range stored.Items {
		errs = append(errs, c.recoverJob(ctx, &stored.Items[i]))
	}
	return errors.Join(errs...)
}

func (c *Cluster) recoverJob(ctx context.Context, secret *corev1.Secret) error {
	b, err := backupIn(secret, c.ring.Load())
	if err != nil {
		return err
	}
	live, err := c.jobsIn(b.Job.GetNamespace()).Get(ctx, b.Job.GetName(), metav1.GetOptions{})
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("read %s: %w", b, err)
	case err != nil, live.GetUID() == b.UID && live.GetDeletionTimestamp() != nil:
		if _, err = c.restore(ctx, b); apierrors.IsNotFound(err) {
			return nil
		}
		return err
	case live.GetUID() == b.UID && live.GetResourceVersion() == b.Version && time.Since(b.Kept) < lateTime:
		return nil
	}
	return c.dropBackup(ctx, b)
}
