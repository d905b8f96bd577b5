package kube

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/reloader/workload"
)

const (
	// ManifestLabel is on every Secret that holds the manifest of a Job between its deletion and its creation.
	ManifestLabel = "reroll.dev/job-manifest"
	// ManifestType is the type of these Secrets.
	ManifestType corev1.SecretType = "reroll.dev/job"
)

// The keys of such a Secret.
const (
	manifestJob     = "manifest"
	manifestUID     = "uid"
	manifestVersion = "resourceVersion"
	manifestKept    = "kept"
	// manifestSignature proves that Reroll made the Secret: whoever else may write Secrets here must not have Jobs created anywhere.
	manifestSignature = "signature"
)

// errForged is of a Secret that nobody with the digest key has made.
var errForged = errors.New("it is not signed with Reroll's digest key and no Job is created of it: delete the Secret; " +
	"or, if Reroll made it and the key was lost since, create the Job by hand")

// manifest is a Job that is to be created again. It may hold literal values of environment variables, which are somebody's content:
// it goes nowhere but into a Secret.
type manifest struct {
	job *unstructured.Unstructured
	// uid is that of the Job in whose place it is to stand.
	uid types.UID
	// version is the only one in which that Job is deleted, and kept when the request for that was about to be sent.
	version string
	kept    time.Time
}

// lateTime is for how long after it was sent a request to delete a Job may still be carried out, although nobody waits for its answer: an API
// server gives a request a minute, unless it is told otherwise.
const lateTime = 5 * time.Minute

// undone reports whether live, which stands where it was, is deleted no more for m.
func (m manifest) undone(live *unstructured.Unstructured, now time.Time) bool {
	return live.GetResourceVersion() != m.version || now.Sub(m.kept) >= lateTime
}

// String names the Job, and says nothing of what is in it.
func (m manifest) String() string {
	return fmt.Sprintf("Job %s/%s", m.job.GetNamespace(), m.job.GetName())
}

func (m manifest) secretName() string { return manifestName(m.uid) }

func manifestName(uid types.UID) string { return "reroll-job-" + string(uid) }

// putManifest keeps m safe, in the place of what was kept for the Job before. It refuses for good what is larger than a Secret may
// be, and fails with errReplaced if another process has recreated the Job meanwhile.
func (c *Cluster) putManifest(ctx context.Context, m manifest) error {
	secret, err := m.secret(c.Namespace)
	if err != nil {
		return err
	}
	ring, err := c.signer(ctx)
	if err != nil {
		return err
	}
	secret.Data[manifestSignature] = ring.Sign(signedParts(secret)...)
	secrets := c.client.CoreV1().Secrets(c.Namespace)
	_, err = secrets.Create(ctx, secret, metav1.CreateOptions{FieldManager: "reroll"})
	if apierrors.IsAlreadyExists(err) {
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{FieldManager: "reroll"})
		if apierrors.IsNotFound(err) {
			return errReplaced // whoever had kept it is done by now
		}
	}
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("keep the manifest of %s in Secret %s/%s: %w", m, c.Namespace, secret.Name, err)
	case err != nil:
		// Whatever kind of error it is, it is one of the Secret and not of the Job.
		return fmt.Errorf("keep the manifest of %s in Secret %s/%s: %v", m, c.Namespace, secret.Name, err)
	}
	return nil
}

func (m manifest) secret(namespace string) (*corev1.Secret, error) {
	data, err := json.Marshal(m.job.Object)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", m, err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: m.secretName(), Namespace: namespace, Labels: map[string]string{ManifestLabel: "true"},
		},
		Type: ManifestType,
		Data: map[string][]byte{
			manifestJob: data, manifestUID: []byte(m.uid),
			manifestVersion: []byte(m.version), manifestKept: []byte(m.kept.UTC().Format(time.RFC3339)),
		},
	}
	size := sha256.Size // of the signature
	for _, value := range secret.Data {
		size += len(value)
	}
	if size > corev1.MaxSecretSize {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"%s cannot be recreated: its manifest has %d bytes, and the Secret that is to keep it safe takes %d", m, size, corev1.MaxSecretSize))
	}
	return secret, nil
}

// getManifest returns what is kept for the Job of that UID.
func (c *Cluster) getManifest(ctx context.Context, uid types.UID) (manifest, error) {
	secret, err := c.client.CoreV1().Secrets(c.Namespace).Get(ctx, manifestName(uid), metav1.GetOptions{})
	if err != nil {
		return manifest{}, err
	}
	return c.manifestIn(ctx, secret)
}

// signedParts are what the signature is of.
func signedParts(secret *corev1.Secret) [][]byte {
	parts := [][]byte{[]byte(secret.Name)}
	for _, key := range []string{manifestJob, manifestUID, manifestVersion, manifestKept} {
		parts = append(parts, secret.Data[key])
	}
	return parts
}

// manifestIn returns the manifest in a Secret that Reroll made.
func (c *Cluster) manifestIn(ctx context.Context, secret *corev1.Secret) (manifest, error) {
	ring, err := c.signer(ctx)
	if err != nil {
		return manifest{}, err
	}
	if !ring.Signed(secret.Data[manifestSignature], signedParts(secret)...) {
		return manifest{}, fmt.Errorf("secret %s/%s: %w", secret.Namespace, secret.Name, errForged)
	}
	return parseManifest(secret)
}

func parseManifest(secret *corev1.Secret) (manifest, error) {
	m := manifest{
		job: &unstructured.Unstructured{}, uid: types.UID(secret.Data[manifestUID]),
		version: string(secret.Data[manifestVersion]),
	}
	m.kept, _ = time.Parse(time.RFC3339, string(secret.Data[manifestKept])) // what cannot be read is long ago
	// The decoder's error is not passed on: it may quote the manifest.
	if m.job.UnmarshalJSON(secret.Data[manifestJob]) != nil || m.job.GetKind() != "Job" || m.secretName() != secret.Name {
		return manifest{}, fmt.Errorf("secret %s/%s: not a Job's manifest", secret.Namespace, secret.Name)
	}
	return m, nil
}

// dropManifest deletes what is kept for the Job; what it cannot delete is left for RecoverJobs.
func (c *Cluster) dropManifest(ctx context.Context, m manifest) error {
	err := c.client.CoreV1().Secrets(c.Namespace).Delete(ctx, m.secretName(), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		c.jobs.leave()
		return fmt.Errorf("drop the manifest of %s: %v", m, err)
	}
	return nil
}

// generatedLabels are what the API server writes on Jobs, and demands to write itself, unless their selector is manual.
var generatedLabels = []string{"controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"}

// cleaned returns the Job without what the API server and its controllers have written, so that it can be created again. Fields
// that this version does not know stay.
func cleaned(job *unstructured.Unstructured) *unstructured.Unstructured {
	live := job.DeepCopy()
	spec, _, _ := unstructured.NestedMap(live.Object, "spec")
	out := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	out.SetGroupVersionKind(workload.Job.Resource.GroupVersion().WithKind(workload.Job.Kind))
	out.SetName(live.GetName())
	out.SetNamespace(live.GetNamespace())
	out.SetAnnotations(live.GetAnnotations())
	out.SetLabels(live.GetLabels())
	out.SetOwnerReferences(live.GetOwnerReferences())
	out.SetFinalizers(slices.DeleteFunc(live.GetFinalizers(), func(f string) bool {
		return f == metav1.FinalizerDeleteDependents || f == metav1.FinalizerOrphanDependents
	}))
	if manual, _, _ := unstructured.NestedBool(spec, "manualSelector"); manual {
		return out
	}
	unstructured.RemoveNestedField(out.Object, "spec", "selector")
	for _, label := range generatedLabels {
		unstructured.RemoveNestedField(out.Object, "metadata", "labels", label)
		unstructured.RemoveNestedField(out.Object, "spec", "template", "metadata", "labels", label)
	}
	return out
}
