package kube

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// TestKubeconfigBeforeThePodsOwnCluster: who gives a kubeconfig, by the environment as well, means that cluster, also in a pod.
func TestKubeconfigBeforeThePodsOwnCluster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(`{"current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],"clusters":[{"name":"c","cluster":{"server":"https://elsewhere"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	inCluster := func() (*rest.Config, error) { return &rest.Config{Host: "https://here"}, nil }
	for name, test := range map[string]struct {
		environment string
		options     Options
		want        string
	}{
		"neither":         {want: "https://here"},
		"the environment": {environment: file, want: "https://elsewhere"},
		"the flag":        {options: Options{Kubeconfig: file}, want: "https://elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", test.environment)
			config, _, err := load(test.options, inCluster)
			if err != nil || config.Host != test.want {
				t.Errorf("%+v, %v, want %s", config, err, test.want)
			}
		})
	}
}

// TestNoKubeconfigIsNamed: who has neither a kubeconfig nor a pod is told what to give.
func TestNoKubeconfigIsNamed(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	_, err := Connect(t.Context(), Options{})
	if err == nil || !strings.Contains(err.Error(), "--kubeconfig") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}
