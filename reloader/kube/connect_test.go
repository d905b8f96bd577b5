package kube

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestNoKubeconfigIsNamed: who has neither a kubeconfig nor a pod is told what to give.
func TestNoKubeconfigIsNamed(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	_, err := Connect(t.Context(), Options{})
	if err == nil || !strings.Contains(err.Error(), "--kubeconfig") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}
