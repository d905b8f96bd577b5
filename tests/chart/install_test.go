package chart_test

import (
	"os"
	"path/filepath"
	"testing"
)

// installs are the values that are installed, with what is turned off because nobody serves its kinds here, or has the address.
var installs = map[string]string{
	"default": "metaInfo=true", "namespaced": "metaInfo=true", "ha": "metaInfo=true",
	"roles":        "ingest.tls.certManager.enabled=false,serviceMonitor.enabled=false,prometheusRule.enabled=false,ingest.service.clusterIP=",
	"hub":          "podMonitor.enabled=false,prometheusRule.enabled=false",
	"fleet-member": "serviceMonitor.enabled=false,prometheusRule.enabled=false",
}

// TestInstall installs, upgrades and uninstalls every shape with the real helm on a real API server, which checks every object.
func TestInstall(t *testing.T) {
	cluster := startRig(t)
	for values, off := range installs {
		t.Run(values, func(t *testing.T) {
			helm := func(args ...string) string {
				t.Helper()
				out, err := tool(t, "helm", append(args, "--namespace", namespace, "--kubeconfig", cluster.Kubeconfig())...)
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			settings := []string{"--values", filepath.Join("testdata", values, "values.yaml"), "--set", off}
			helm(append([]string{"install", release, chart}, settings...)...)
			helm(append([]string{"upgrade", release, chart, "--set", "log.level=debug"}, settings...)...)
			file := filepath.Join(t.TempDir(), "manifest.yaml")
			if err := os.WriteFile(file, []byte(helm("get", "manifest", release)), 0o600); err != nil {
				t.Fatal(err)
			}
			kubectl(t, cluster, "get", "--filename="+file)
			helm("uninstall", release)
			left, err := cluster.Kubectl(t.Context(), "get", "--filename="+file, "--ignore-not-found", "--output=name")
			if err != nil || left != "" {
				t.Errorf("left behind: %s, %v", left, err)
			}
		})
	}
}
