package app

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/reroll-dev/reroll/cmd/reroll/config"
)

// TestGateAsksTheClusterOfKUBECONFIG: in a pod, KUBECONFIG names the cluster for the API's questions about tokens as it does for the dispatcher.
func TestGateAsksTheClusterOfKUBECONFIG(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{ // who does not get it fails
			"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
			"status": map[string]any{"authenticated": true, "user": map[string]string{"username": "alice"}},
		})
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "config")
	kubeconfig := `{"current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],"clusters":[{"name":"c","cluster":{"server":"` + server.URL + `"}}]}`
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
	t.Setenv("KUBERNETES_SERVICE_HOST", "203.0.113.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	gate, err := gateOf(config.Default(), "test")
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/api/v1/self", nil)
	r.Header.Set("Authorization", "Bearer t")
	if u, ok, err := gate.Authenticate(r); !ok || err != nil || u.Name != "alice" {
		t.Errorf("%+v %t %v", u, ok, err)
	}
}
