package kube

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/tests/pki"
)

// SharedVariable names the directory of a control plane that several test binaries use, one after another. The gate starts it once;
// without the variable, every test binary starts its own.
const SharedVariable = "REROLL_RIG"

// sharedFile has the address of the API server, in the directory of the control plane.
const sharedFile = "api.address"

// SharedDir returns the directory of the shared control plane, or the empty string if there is none.
func SharedDir() string { return os.Getenv(SharedVariable) }

// Share lets other processes use the control plane: Start returns it to those that have its directory in REROLL_RIG.
func (c *Cluster) Share() error {
	return os.WriteFile(c.file(sharedFile), []byte(c.api), 0o600)
}

// attach returns the shared control plane in dir. It refuses options that the shared one does not have.
func attach(ctx context.Context, dir string, o Options) (*Cluster, error) {
	if o.alone() {
		return nil, errors.New("these options need a control plane of their own: such a test is nightly (//go:build nightly)")
	}
	content, err := os.ReadFile(filepath.Join(dir, sharedFile))
	if err != nil {
		return nil, fmt.Errorf("%s names no control plane: %w", SharedVariable, err)
	}
	binaries, err := Parts(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: o, binaries: binaries, dir: dir, api: address(content), processes: map[Part]*Program{}, attached: true}
	if c.ca, err = pki.ReadCA(c.file(caFile), c.file(caKeyFile)); err != nil {
		return nil, err
	}
	user := componentUsers[Kubectl]
	if c.admin, err = c.User(user[0], user[1:]...); err != nil {
		return nil, err
	}
	c.client, err = kubernetes.NewForConfig(c.admin)
	return c, err
}

// alone reports whether a control plane with these options cannot be shared.
func (o Options) alone() bool {
	audit := o.Audit != nil && (o.Audit.Level != "" || o.Audit.BatchMaxWait != 0 || o.Audit.Throttle)
	return !o.ControlPlaneOnly || audit || o.Dir != "" || len(o.APIServerFlags) > 0 || o.OwnNodes
}

// empty deletes what would stay in a namespace for ever, and be followed by every later Reroll: without controllers, nothing ends the
// deletion of a namespace.
func (c *Cluster) empty(ctx context.Context, namespace string) error {
	var errs []error
	for _, r := range []struct {
		client   rest.Interface
		resource string
	}{
		{c.client.AppsV1().RESTClient(), "deployments"},
		{c.client.AppsV1().RESTClient(), "statefulsets"},
		{c.client.AppsV1().RESTClient(), "daemonsets"},
		{c.client.BatchV1().RESTClient(), "cronjobs"},
		{c.client.BatchV1().RESTClient(), "jobs"},
		{c.client.CoreV1().RESTClient(), "configmaps"},
		{c.client.CoreV1().RESTClient(), "secrets"},
	} {
		background := metav1.DeletePropagationBackground
		errs = append(errs, r.client.Delete().Namespace(namespace).Resource(r.resource).
			Body(&metav1.DeleteOptions{PropagationPolicy: &background}).Do(ctx).Error())
	}
	return errors.Join(errs...)
}

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
