//go:build nightly

package chart_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	rig "github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/tools"
)

// installs are the values that are installed, with what is different: who serves the kinds of operators has no address to give away, and
// nobody runs Jobs.
var installs = map[string]string{
	"default": "dryRun=false", "namespaced": "dryRun=false", "ha": "dryRun=false", "split": "ingest.service.clusterIP=", "hub": "dryRun=false",
	"fleet-member": "grafanaDashboards.enabled=true", "admission": "admission.timeoutSeconds=4",
	"full": "ingest.service.clusterIP=", "watched": "dryRun=false",
}

// TestInstall installs, upgrades and uninstalls every shape with the real helm, the present one and the one before, on a real API server,
// which checks every object. It has the kinds of cert-manager and of the operator of Prometheus, as these define them.
func TestInstall(t *testing.T) {
	cluster := startRig(t)
	serveOperators(t, cluster)
	for _, helm := range []string{"helm", "helm3"} {
		for values, set := range installs {
			if !t.Run(helm+"/"+values, func(t *testing.T) { install(t, cluster, helm, values, set) }) {
				return // what is left of it would be in the way of all others
			}
		}
		t.Run(helm+"/one process becomes two", func(t *testing.T) { grow(t, cluster, helm) })
	}
}

// installer returns what calls a helm for the release on a cluster, and what uninstalls the release.
func installer(t *testing.T, cluster *rig.Cluster, version string) (helm func(args ...string) (string, error), uninstall func()) {
	t.Helper()
	helm = func(args ...string) (string, error) {
		return tool(t, version, append(args, "--namespace", namespace, "--kubeconfig", cluster.Kubeconfig())...)
	}
	return helm, func() {
		if _, err := helm("uninstall", release); err != nil {
			t.Error(err)
		}
	}
}

// grow: a release gets a volume, and another NATS and a second replica in its place, each by an upgrade alone. Its claim stays.
func grow(t *testing.T, cluster *rig.Cluster, version string) {
	helm, uninstall := installer(t, cluster, version)
	defer uninstall()
	bigger := []string{"upgrade", release, chart, "--set", "nats.url=nats://nats:4222,replicaCount=2"}
	if _, err := helm("install", release, chart); err != nil {
		t.Fatal(err)
	}
	for _, upgrade := range [][]string{{"upgrade", release, chart, "--set", "persistence.enabled=true"}, bigger} {
		if _, err := helm(upgrade...); err != nil {
			t.Fatal(err)
		}
		cluster.MustKubectl(t, "--namespace="+namespace, "get", "persistentvolumeclaim", "example-reroll-data")
	}
	defer cluster.MustKubectl(t, "--namespace="+namespace, "delete", "persistentvolumeclaim", "example-reroll-data", "--wait=false")
	got, err := cluster.Kubectl(t.Context(), "--namespace="+namespace, "get", "statefulset", "example-reroll", "--output=jsonpath={.spec.replicas}")
	if err != nil || got != "2" {
		t.Errorf("%s replicas, want 2: %v", got, err)
	}
}

// install lets a release of some values come, change and go.
func install(t *testing.T, cluster *rig.Cluster, version, values, set string) {
	t.Helper()
	helm, uninstall := installer(t, cluster, version)
	settings := []string{"--values", filepath.Join("testdata", values, "values.yaml"), "--set", set}
	for _, args := range [][]string{{"install", release, chart}, {"upgrade", release, chart, "--set", "config.log.level=debug"}} {
		_, err := helm(append(args, settings...)...)
		line.Must(t, err)
	}
	file := filepath.Join(t.TempDir(), "manifest.yaml")
	manifest, err := helm("get", "manifest", release)
	line.Must(t, err)
	line.Must(t, os.WriteFile(file, []byte(manifest), 0o600))
	cluster.MustKubectl(t, "get", "--filename="+file)
	uninstall()
	left, err := cluster.Kubectl(t.Context(), "get", "--filename="+file, "--ignore-not-found", "--output=name")
	const kept = "persistentvolumeclaim/rolls-data" // of the values that ask for one
	if strings.TrimSpace(left) == kept {
		cluster.MustKubectl(t, "--namespace="+namespace, "delete", kept, "--wait=false")
		left = ""
	}
	if err != nil || left != "" {
		t.Errorf("left behind: %s, %v", left, err)
	}
}

// definitions are the files with the kinds of operators that the chart makes objects of, by the module that they are in.
var definitions = map[string][]string{
	"github.com/cert-manager/cert-manager": {
		"deploy/crds/cert-manager.io_certificates.yaml", "deploy/crds/cert-manager.io_issuers.yaml",
	},
	"github.com/prometheus-operator/prometheus-operator": {
		"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
		"example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml",
		"example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
	},
}

// serveOperators adds the kinds of operators, without the operators.
func serveOperators(t *testing.T, cluster *rig.Cluster) {
	t.Helper()
	for module, files := range definitions {
		dir, err := tools.Module(t.Context(), "crds", module)
		line.Must(t, err)
		for _, file := range files {
			cluster.MustKubectl(t, "create", "--filename="+filepath.Join(dir, file))
		}
	}
	cluster.MustKubectl(t, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
}
