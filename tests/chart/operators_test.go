//go:build nightly

package chart_test

import (
	"path/filepath"
	"testing"

	rig "github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
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
		line.Must(t, err)
		for _, file := range files {
			kubectl(t, cluster, "create", "--filename="+filepath.Join(dir, file))
		}
	}
	kubectl(t, cluster, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
}
