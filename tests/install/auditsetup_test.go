package install_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// setupFolder is where reroll audit setup writes.
const setupFolder = "reroll-audit"

// install starts a cluster, installs the chart in it, and runs what the chart has. The API server posts no audit events.
func (r *reader) install(ctx context.Context, t *testing.T, values ...string) (cluster *kube.Cluster, p *line.Reroll, ingest string) {
	t.Helper()
	var err error
	cluster, err = kube.Start(ctx, kube.Options{ControlPlaneOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	r.Link(t, "kubectl", cluster.Command(ctx).Path)
	r.kubeconfig = cluster.Kubeconfig()
	r.Env = append(r.Env, "KUBECONFIG="+r.kubeconfig)
	r.Follow(t, "helm install reroll helm/reroll --namespace reroll --create-namespace "+strings.Join(values, " "))
	p, ingest = startPod(ctx, t, cluster)
	return cluster, p, ingest
}

// try runs a command that may fail, and returns what it prints and the code that it ends with.
func (r *reader) try(t *testing.T, command string) (printed string, code int) {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "sh", "-euc", command)
	shell.Dir, shell.Env = r.Dir, r.Env
	output, err := shell.CombinedOutput()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return string(output), ended.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(output), 0
}

// TestAuditSetup sets up the audit feed of a running release with two commands: the API server starts again with the files and the flags that
// reroll audit setup has written for kubeadm, and reroll audit check proves the feed. Nothing here runs pods or routes Services, so that two things are
// changed in what was written: the folder of the node is that of the reader, and the address of the Service is that of the process that stands for the
// pod.
func TestAuditSetup(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), suiteTime)
	defer cancel()
	r := newReader(t)
	cluster, p, ingest := r.install(ctx, t, "--set config.ingest.canaryInterval=2s")
	r.Env = append(r.Env, "REROLL_SERVER="+p.API)

	told := r.Follow(t, "reroll audit setup --for kubeadm")
	service, err := cluster.Client().CoreV1().Services("reroll").Get(ctx, "reroll-ingest", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	address := service.Spec.ClusterIP + ":9443"
	for _, want := range []string{"Release reroll in namespace reroll takes the audit events of cluster local at https://" + address, "1. ", "reroll audit check"} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not in\n%s", want, told)
		}
	}
	r.Replace(t, setupFolder+"/audit-webhook.yaml", nodeFolder, filepath.Join(r.Dir, setupFolder))
	r.Replace(t, setupFolder+"/audit-webhook.yaml", address, ingest)
	r.Replace(t, setupFolder+"/settings.yaml", nodeFolder, filepath.Join(r.Dir, setupFolder))

	// Before the API server has the files nothing is proven, and what is there already is well.
	told, code := r.try(t, "reroll audit check --timeout 5s")
	if code != 1 || !strings.Contains(told, "✗ audit events: none has come in since this began") {
		t.Errorf("code %d:\n%s", code, told)
	}
	if strings.Contains(strings.ReplaceAll(told, "✗ audit events", ""), "✗") {
		t.Errorf("something else is wrong:\n%s", told)
	}

	r.restart(ctx, t, cluster)
	told, code = r.try(t, "reroll audit check --timeout 3m")
	if code != 0 || !strings.Contains(told, "is proven") {
		t.Fatalf("code %d:\n%s\n%s", code, told, p.Log())
	}
	t.Log(told)
	r.Follow(t,
		"kubectl create namespace shop", "kubectl -n shop create configmap settings --from-literal=colour=blue",
		"kubectl -n shop create deployment web --image=registry.k8s.io/pause:3.10", "kubectl -n shop set env deployment/web --from=configmap/settings",
		"kubectl -n shop annotate deployment/web reloader.stakater.com/auto=true",
	)
	line.Eventually(t, "a baseline: what changes before it is no change", func(ctx context.Context) error {
		if n, err := p.Baselines(ctx, "shop", "web"); err != nil || n == 0 {
			return fmt.Errorf("%d, %w", n, err)
		}
		return nil
	})
	r.Follow(t, `kubectl -n shop patch configmap settings --patch '{"data":{"colour":"red"}}'`)
	line.Eventually(t, "the reload with who it was", func(ctx context.Context) error {
		reloads, err := p.Reloads(ctx, "shop")
		if err != nil || len(reloads) == 0 || !strings.Contains(fmt.Sprint(reloads[0]), "admin") {
			return fmt.Errorf("reloads %+v, %w", reloads, err)
		}
		return nil
	})
}

// restart starts the API server again with the flags that the settings have.
func (r *reader) restart(ctx context.Context, t *testing.T, cluster *kube.Cluster) {
	t.Helper()
	flags := append([]string{"--audit-webhook-initial-backoff=1s"}, r.APIServerFlags(t, setupFolder)...)
	if err := cluster.StopAPIServer(ctx); err != nil {
		t.Fatal(err)
	}
	if err := cluster.StartAPIServer(ctx, flags...); err != nil {
		t.Fatal(err)
	}
}
