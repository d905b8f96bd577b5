//go:build nightly

package chart_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/guide"
	rig "github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// running is a release of the default shape on a whole control plane: its pod is made, scheduled and replaced, and its volume is bound. It is
// called as in the documents.
type running struct {
	*testing.T

	cluster *rig.Cluster
	path    string
}

const documented = "reroll"

// volumes are two classes, of which the first is the default, and a volume of each. Nothing is stored in them.
const volumes = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: usual, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: kubernetes.io/no-provisioner
allowVolumeExpansion: true
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: other}
provisioner: kubernetes.io/no-provisioner
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: usual}
spec: {storageClassName: usual, capacity: {storage: 30Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /nowhere}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: other}
spec: {storageClassName: other, capacity: {storage: 30Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /nowhere}}
`

// TestMendByHelm: what docs/operations.md says of upgrades and rollbacks is so, with the controllers of a real control plane.
func TestMendByHelm(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	cluster, err := rig.Start(ctx, rig.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	r := running{t, cluster, t.TempDir()}
	if err := os.WriteFile(r.path+"/volumes.yaml", []byte(volumes), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, cluster, "create", "namespace", documented)
	for _, step := range []struct {
		name string
		run  func(r running)
	}{
		{"a cluster without a class of volumes", running.expectClassless},
		{"a pod that is not ready", running.expectReplaced},
		{"a larger volume", running.expectLarger},
		{"another class of volumes", running.expectOther},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.run(running{t, cluster, r.path}) }) {
			return // what comes after it stands on it
		}
	}
}

// expectClassless: the default needs no volume. With one, the pod waits for a class, as docs/troubleshooting.md has it, and comes up without a volume
// or once there is a class.
func (r running) expectClassless() {
	r.helm("install", documented, chart)
	r.await("", true)
	r.helm("upgrade", documented, chart, "--set", "persistence.enabled=true")
	r.await("", false)
	r.helm("upgrade", documented, chart, "--set", "persistence.enabled=false")
	r.await("", true)
	r.helm("upgrade", documented, chart, "--set", "persistence.enabled=true")
	r.await("", false)
	kubectl(r.T, r.cluster, "create", "--filename="+r.path+"/volumes.yaml")
	r.await("", true)
}

// expectReplaced: a pod that cannot become ready is replaced by an upgrade that fixes its values, and by a rollback. No one has to delete it.
func (r running) expectReplaced() {
	const nowhere = `persistence.enabled=true,nodeSelector.kubernetes\.io/hostname=nowhere`
	r.helm("upgrade", documented, chart, "--set", nowhere)
	r.await("nowhere", false)
	r.helm("upgrade", documented, chart, "--set", "persistence.enabled=true")
	r.await("", true)
	r.helm("upgrade", documented, chart, "--set", nowhere)
	r.await("nowhere", false)
	r.helm("rollback", documented)
	r.await("", true)
}

// expectLarger: the claim grows by an upgrade, and the pod stays.
func (r running) expectLarger() {
	pod, claim := r.await("", true), r.claim()
	r.helm("upgrade", documented, chart, "--set", "persistence.enabled=true,persistence.size=20Gi")
	if now := r.await("", true); now.UID != pod.UID {
		r.Error("the pod was replaced")
	}
	now := r.claim()
	if got := now.Spec.Resources.Requests.Storage().String(); now.UID != claim.UID || got != "20Gi" {
		r.Errorf("the claim asks for %s and is the same: %t", got, now.UID == claim.UID)
	}
}

// expectOther: the claim is one of the other class, once somebody has done what the documents say.
func (r running) expectOther() {
	upgrade := []string{"upgrade", documented, chart, "--set", "persistence.enabled=true,persistence.size=20Gi,persistence.storageClass=other"}
	if _, err := r.tryHelm(upgrade...); err == nil || !strings.Contains(err.Error(), "storageClassName") {
		r.Fatalf("upgraded without further ado, or failed for another reason: %v", err)
	}
	r.follow(0)
	r.helm(upgrade...)
	r.await("", true)
	if class := r.claim().Spec.StorageClassName; class == nil || *class != "other" {
		r.Errorf("the claim is of the class %v", class)
	}
}

// follow runs the commands of one fence of the documents.
func (r running) follow(n int) {
	r.Helper()
	sections, err := guide.Read(root + "/docs/operations.md")
	if err != nil {
		r.Fatal(err)
	}
	shell := r.cluster.Command(r.Context())
	if err := os.Symlink(shell.Path, filepath.Join(r.path, "kubectl")); err != nil && !os.IsExist(err) {
		r.Fatal(err)
	}
	shell.Path, shell.Args = "/bin/sh", []string{"sh", "-euxc", guide.Commands(r.T, sections, "Upgrade and rollback")[n]}
	shell.Env = append(shell.Env, "PATH="+r.path+":"+os.Getenv("PATH"))
	if _, err := output(shell); err != nil {
		r.Fatal(err)
	}
}

func (r running) helm(args ...string) {
	r.Helper()
	if _, err := r.tryHelm(args...); err != nil {
		r.Fatal(err)
	}
}

func (r running) tryHelm(args ...string) (string, error) {
	r.Helper()
	return tool(r.T, "helm", append(args, "--namespace", documented, "--kubeconfig", r.cluster.Kubeconfig())...)
}

// await waits until the pod of the release is to run on a node of that name, and does so, or cannot. No name is any node.
func (r running) await(node string, runs bool) *corev1.Pod {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 3*time.Minute)
	defer cancel()
	var pod *corev1.Pod
	err := line.Poll(ctx, func(ctx context.Context) (err error) {
		pod, err = r.cluster.Client().CoreV1().Pods(documented).Get(ctx, documented+"-0", metav1.GetOptions{})
		if err != nil {
			return err
		}
		wanted := pod.Spec.NodeSelector["kubernetes.io/hostname"]
		if pod.DeletionTimestamp != nil || wanted != node || runs != (pod.Status.Phase == corev1.PodRunning) || !runs && !unschedulable(pod) {
			return fmt.Errorf("the pod is %s, and of the node %q", pod.Status.Phase, wanted)
		}
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	return pod
}

// unschedulable reports whether a node was looked for in vain.
func unschedulable(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
	})
}

// claim returns that of the release's volume.
func (r running) claim() *corev1.PersistentVolumeClaim {
	r.Helper()
	claim, err := r.cluster.Client().CoreV1().PersistentVolumeClaims(documented).Get(r.Context(), documented+"-data", metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return claim
}
