package lease

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

func TestMetaInfoIsNoOtherReloader(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	c := connect(t, kube.Options{Kubeconfig: cluster.Kubeconfig(), QPS: 100, Burst: 100, Namespace: ns})
	others := func() []string {
		t.Helper()
		found, err := c.OtherReloaders(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(found, func(name string) bool { return !strings.Contains(name, ns+"/") })
	}
	info := kube.MetaInfo{Options: map[string]any{"enableHA": true}, Deployment: kube.DeploymentInfo{Name: "reroll"}}
	for range 2 {
		if err := c.WriteMetaInfo(t.Context(), info); err != nil {
			t.Fatal(err)
		}
	}
	if found := others(); len(found) != 0 {
		t.Errorf("ours is taken for another: %v", found)
	}
	_, err := cluster.Client().CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "theirs", Labels: map[string]string{"reloader.stakater.com/meta-info": "reloader"},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if found := others(); !slices.Equal(found, []string{"configmaps " + ns + "/theirs"}) {
		t.Errorf("found %v, want theirs", found)
	}
}
