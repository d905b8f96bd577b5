package kube

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
)

// Main runs the tests of a package on one cluster, which it puts into shared, and ends the process.
func Main(m *testing.M, shared **Cluster, o Options) {
	c, err := Start(context.Background(), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	*shared = c
	code := m.Run()
	c.Stop()
	os.Exit(code)
}

// namespaceTimeout is how long a new namespace may take to be ready for pods.
const namespaceTimeout = time.Minute

// Namespace makes a namespace for a test, ready for pods, and returns its name. It is deleted when the test ends, without waiting for
// that to finish.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), namespaceTimeout)
	defer cancel()
	name := c.namespaceName(t.Name())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		t.Fatalf("create namespace %s: %v", name, err)
	}
	t.Cleanup(func() {
		if c.attached {
			if err := c.empty(context.WithoutCancel(ctx), name); err != nil {
				t.Logf("empty namespace %s: %v", name, err)
			}
		}
		if err := c.client.CoreV1().Namespaces().Delete(context.WithoutCancel(ctx), name, metav1.DeleteOptions{}); err != nil {
			t.Logf("delete namespace %s: %v", name, err)
		}
	})
	if c.options.ControlPlaneOnly {
		return name
	}
	// Pods are refused until it has a service account, and controllers then back off.
	ready := func(ctx context.Context) error { return c.hasServiceAccount(ctx, name) }
	if err := c.process(ControllerManager).Await(ctx, ready); err != nil {
		t.Fatalf("wait for namespace %s: %v", name, err)
	}
	return name
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// namespaceName makes a new name of a test's.
func (c *Cluster) namespaceName(test string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.namespaces++
	if c.attached {
		return fmt.Sprintf("%s-%s", shortName(test), utilrand.String(6))
	}
	return fmt.Sprintf("%s-%d", shortName(test), c.namespaces)
}

func shortName(test string) string {
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(test), "-"), "-")
	return strings.TrimRight(name[:min(len(name), 50)], "-")
}
