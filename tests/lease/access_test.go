package lease

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/kube"
)

func connect(t *testing.T, o kube.Options) *kube.Cluster {
	t.Helper()
	o.KeepAnnotation = func(string) bool { return false }
	c, err := kube.Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Who may do nothing at all can be connected: what is missing shows where it is needed.
func TestConnectWithoutRightsOnTheCluster(t *testing.T) {
	t.Parallel()
	kubeconfig, err := cluster.UserKubeconfig("nobody")
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, kube.Options{Kubeconfig: kubeconfig, QPS: 10, Burst: 10})
	if c.UID != "" {
		t.Errorf("UID %q", c.UID)
	}
	if err := c.Healthy(t.Context()); err != nil {
		t.Errorf("it is not healthy: %v", err)
	}
	if admin := connect(t, kube.Options{Kubeconfig: cluster.Kubeconfig(), QPS: 10, Burst: 10}); admin.UID == "" {
		t.Error("who may read the UID does not get it")
	}
}

func TestConnectToNobody(t *testing.T) {
	t.Parallel()
	kubeconfig, err := cluster.UserKubeconfig("nobody")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := kube.Connect(ctx, kube.Options{Kubeconfig: kubeconfig}); err == nil {
		t.Error("connected without a connection")
	}
}

// A fan-out that uses up the rate limit does not make the process look ill.
func TestHealthDoesNotWaitBehindTheWork(t *testing.T) {
	t.Parallel()
	c := connect(t, kube.Options{Kubeconfig: cluster.Kubeconfig(), QPS: 0.001, Burst: 1}) // connecting was the one request
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := c.Get(ctx, reloader.Config{Kind: reloader.ConfigMap, Namespace: "default", Name: "is-not-there"})
	if err == nil || !strings.Contains(err.Error(), "rate limiter") {
		t.Fatalf("the rate limit does not hold: %v", err)
	}
	for range 3 {
		if err := c.Healthy(ctx); err != nil {
			t.Errorf("it is not healthy: %v", err)
		}
	}
}
