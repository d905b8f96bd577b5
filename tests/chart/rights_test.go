//go:build nightly

package chart_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	rig "github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

var builtIn = []string{"Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job"}

// accountUser precedes the name of an account of the release in that of its user.
const accountUser = "system:serviceaccount:" + namespace + ":"

// startRig returns an API server with the namespaces of the tests.
func startRig(t *testing.T) *rig.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	dir := t.TempDir()
	const policy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata", "userGroups": ["` + accounts + `"]}]}`
	line.Must(t, os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte(policy), 0o600))
	cluster, err := rig.Start(ctx, rig.Options{
		ControlPlaneOnly: true, Dir: filepath.Join(dir, "cluster"),
		APIServerFlags: []string{"--audit-policy-file=" + filepath.Join(dir, "policy.yaml"), "--audit-log-path=" + filepath.Join(dir, "audit.log")},
	})
	line.Must(t, err)
	t.Cleanup(cluster.Stop)
	for _, name := range []string{namespace, "shop", "billing"} {
		kubectl(t, cluster, "create", "namespace", name)
	}
	for _, name := range []string{"shop", "billing"} {
		kubectl(t, cluster, "create", "--namespace="+name, "--filename=testdata/objects.yaml")
	}
	return cluster
}

func kubectl(t *testing.T, cluster *rig.Cluster, args ...string) {
	t.Helper()
	_, err := cluster.Kubectl(t.Context(), args...)
	line.Must(t, err)
}

// serveEverything adds the kinds of Argo, OpenShift and the Secrets Store CSI driver, with an object of each.
func serveEverything(t *testing.T, cluster *rig.Cluster) {
	t.Helper()
	kubectl(t, cluster, "create", "--filename=../testdata/crds")
	kubectl(t, cluster, "wait", "--for=condition=Established", "crd", "--all")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// What is established may need a moment more until it is served.
	err := line.Poll(ctx, func(ctx context.Context) error {
		_, err := cluster.Kubectl(ctx, "apply", "--namespace=shop", "--filename=testdata/optional-objects.yaml")
		return err
	})
	line.Must(t, err)
}

// bind installs the chart's roles with some values, and more arguments of helm.
func bind(t *testing.T, cluster *rig.Cluster, values string, more ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rbac.yaml")
	args := append([]string{"--values", filepath.Join("testdata", values, "values.yaml"), "--show-only", "templates/rbac.yaml"}, more...)
	line.Must(t, os.WriteFile(file, []byte(render(t, args...)), 0o600))
	kubectl(t, cluster, "create", "--filename="+file)
}
