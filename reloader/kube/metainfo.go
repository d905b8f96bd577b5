package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MetaInfoName is the ConfigMap that tells which reloader runs, and how.
const MetaInfoName = "reloader-meta-info"

// The labels of that ConfigMap: the one by which it is found, and the one that tells ours from another reloader's.
const (
	metaInfoLabel = "reloader.stakater.com/meta-info"
	metaInfoValue = "reloader"
	managedLabel  = "app.kubernetes.io/managed-by"
	managedValue  = "reroll"
)

// MetaInfo is what the ConfigMap MetaInfoName tells. Each field is one of its data keys, in JSON. Everybody who may read ConfigMaps
// can read it: nothing in it may be a credential.
type MetaInfo struct {
	Build BuildInfo
	// Options are the settings by name, in camel case.
	Options any
	// Deployment is what runs the process. If its namespace is empty, it is Reroll's own.
	Deployment DeploymentInfo
}

// BuildInfo tells what was built, of what, and when.
type BuildInfo struct {
	GoVersion      string    `json:"goVersion"`
	ReleaseVersion string    `json:"releaseVersion"`
	CommitHash     string    `json:"commitHash"`
	CommitTime     time.Time `json:"commitTime"`
	Edition        string    `json:"edition,omitempty"`
}

// DeploymentInfo names the Deployment that runs the process.
type DeploymentInfo struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// metaInfoAttempts is how often a write is begun again because another replica was faster.
const metaInfoAttempts = 3

// WriteMetaInfo creates the ConfigMap MetaInfoName in the namespace of info's Deployment, or updates it if it says something else. One
// that another reloader left is taken over. In a dry run nothing is written.
func (c *Cluster) WriteMetaInfo(ctx context.Context, info MetaInfo) error {
	if c.options.DryRun {
		return nil
	}
	if info.Deployment.Namespace == "" {
		info.Deployment.Namespace = c.Namespace
	}
	want, err := info.configMap()
	if err != nil {
		return fmt.Errorf("encode %s: %w", MetaInfoName, err)
	}
	for range metaInfoAttempts {
		err = c.putMetaInfo(ctx, want)
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", want.Namespace, want.Name, err)
	}
	return nil
}

// putMetaInfo makes the stored ConfigMap say what want does. Labels that others set stay.
func (c *Cluster) putMetaInfo(ctx context.Context, want *corev1.ConfigMap) error {
	client := c.client.CoreV1().ConfigMaps(want.Namespace)
	stored, err := client.Get(ctx, want.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = client.Create(ctx, want, metav1.CreateOptions{FieldManager: "reroll"})
		return err
	}
	if err != nil {
		return err
	}
	labels := maps.Clone(stored.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, want.Labels)
	if maps.Equal(stored.Data, want.Data) && maps.Equal(stored.Labels, labels) {
		return nil
	}
	stored.Data, stored.Labels = want.Data, labels
	_, err = client.Update(ctx, stored, metav1.UpdateOptions{FieldManager: "reroll"})
	return err
}

// configMap returns the ConfigMap that tells m.
func (m MetaInfo) configMap() (*corev1.ConfigMap, error) {
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: MetaInfoName, Namespace: m.Deployment.Namespace,
			Labels: map[string]string{metaInfoLabel: metaInfoValue, managedLabel: managedValue},
		},
		Data: map[string]string{},
	}
	for key, part := range map[string]any{"buildInfo": m.Build, "reloaderOptions": m.Options, "deploymentInfo": m.Deployment} {
		text, err := json.Marshal(part)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		object.Data[key] = string(text)
	}
	return object, nil
}
