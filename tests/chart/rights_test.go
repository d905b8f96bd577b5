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
	cluster, err := rig.Start(ctx, rig.Options{ControlPlaneOnly: true})
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
	if _, err := cluster.Kubectl(t.Context(), args...); err != nil {
		t.Fatal(err)
	}
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

// bind installs the chart's roles and takes them away at the end.
func bind(t *testing.T, cluster *rig.Cluster, values string, templates ...string) {
	t.Helper()
	bindMore(t, cluster, values, nil, templates...)
}

// bindMore is bind with arguments of helm besides the values.
func bindMore(t *testing.T, cluster *rig.Cluster, values string, more []string, templates ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rbac.yaml")
	args := append([]string{"--values", filepath.Join("testdata", values, "values.yaml")}, more...)
	for _, template := range append([]string{"rbac.yaml"}, templates...) {
		args = append(args, "--show-only", "templates/"+template)
	}
	text := render(t, args...)
	line.Must(t, os.WriteFile(file, []byte(text), 0o600))
	kubectl(t, cluster, "create", "--filename="+file)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := cluster.Kubectl(ctx, "delete", "--filename="+file); err != nil {
			t.Error(err)
		}
	})
}
