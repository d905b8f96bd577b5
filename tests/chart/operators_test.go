//go:build nightly

package chart_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	rig "github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/tools"
)

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
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			kubectl(t, cluster, "create", "--filename="+filepath.Join(dir, file))
		}
	}
	kubectl(t, cluster, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
}

// judge asks the API server whether it would take objects, with no field in them that it does not know.
func judge(t *testing.T, cluster *rig.Cluster, manifest string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := cluster.Kubectl(t.Context(), "create", "--dry-run=server", "--validate=strict", "--namespace="+namespace, "--filename="+file)
	return err
}

// documents returns the objects of operators that values become, each in YAML.
func documents(t *testing.T, values string) (found []string) {
	t.Helper()
	for document := range strings.SplitSeq(render(t, "--values", filepath.Join("testdata", values, "values.yaml"), "--set", installs[values]), "\n---\n") {
		for _, group := range operators {
			if strings.Contains(document, "\napiVersion: "+group+"/") {
				found = append(found, document)
			}
		}
	}
	return found
}

// expectKnown lets the API server judge the objects of operators, and as many others in which a field has another name.
func expectKnown(t *testing.T, cluster *rig.Cluster) {
	t.Helper()
	faults, seen := strings.NewReplacer("    - {port: ", "    - {porte: ", "        expr: ", "        query: "), map[string]int{}
	for values := range installs {
		for _, document := range documents(t, values) {
			_, kind, _ := strings.Cut(document, "\nkind: ")
			kind, _, _ = strings.Cut(kind, "\n")
			seen[kind]++
			if err := judge(t, cluster, document); err != nil {
				t.Errorf("%s: %v", values, err)
			}
			if err := judge(t, cluster, faults.Replace(document)); err == nil {
				t.Errorf("%s: a field of the %s that there is not is taken", values, kind)
			}
		}
	}
	for _, kind := range []string{"ServiceMonitor", "PrometheusRule"} {
		if seen[kind] == 0 {
			t.Errorf("no %s is in any shape", kind)
		}
	}
}
