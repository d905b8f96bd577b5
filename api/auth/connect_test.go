package auth

import (
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// TestImpersonation: reviews are asked for as the user that the configuration impersonates.
func TestImpersonation(t *testing.T) {
	var as string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		as = r.Header.Get("Impersonate-User")
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	client, err := connect(&rest.Config{Host: server.URL, Impersonate: rest.ImpersonationConfig{UserName: "nobody@example.com"}}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().ConfigMaps("a").Get(t.Context(), "a", metav1.GetOptions{}); err == nil || as != "nobody@example.com" {
		t.Errorf("the request is sent as %q: %v", as, err)
	}
}
