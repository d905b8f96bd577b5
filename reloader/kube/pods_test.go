package kube

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// TestPodsOfAnEndedTerm: a process that leads no more annotates no pod, runs no command, although that begins with a GET, and calls none.
func TestPodsOfAnEndedTerm(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("request %s %s", r.Method, r.URL) }))
	t.Cleanup(server.Close)
	c := newCluster(&connection{config: &rest.Config{Host: server.URL}})
	if err := c.makeClients(); err != nil {
		t.Fatal(err)
	}
	c.fence.close()
	pods, pod := NewPods(c), workload.RunningPod{Name: "web-a"}
	_, called := pods.Servers(t.Context())
	for what, err := range map[string]error{
		"refresh": pods.Refresh(t.Context(), pod, "1"), "exec": pods.Exec(t.Context(), pod, "main", []string{"reload"}), "call": called,
	} {
		if !errors.Is(err, ErrLeadershipLost) {
			t.Errorf("%s: error %v", what, err)
		}
	}
}
