package watch

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/workload"
	rig "github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// patience is how long anything may take that is not meant to take time.
const patience = 30 * time.Second

// follower is what one Watch has said.
type follower struct {
	cluster *kube.Cluster
	log     safeBuffer

	mu      sync.Mutex
	tracked map[reloader.WorkloadRef]*workload.Workload
}

// follow watches a scope until the test ends. What the test does not create itself is not in the follower's tracked.
func follow(t *testing.T, kubeconfig string, scope kube.Scope) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	f := &follower{tracked: map[reloader.WorkloadRef]*workload.Workload{}}
	var err error
	f.cluster, err = kube.Connect(ctx, kube.Options{
		Kubeconfig: kubeconfig, QPS: 1000, Burst: 1000, Scope: scope, Logger: slog.New(slog.NewTextHandler(&f.log, nil)),
		KeepAnnotation: func(key string) bool { return key == "kept" },
	})
	line.Must(t, err)
	err = f.cluster.Watch(ctx, func(w *workload.Workload) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.tracked[w.Ref()] = w
	}, func(ref reloader.WorkloadRef) {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.tracked, ref)
	})
	line.Must(t, err)
	return f
}

func (f *follower) get(ref reloader.WorkloadRef) *workload.Workload {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tracked[ref]
}

// in returns what is tracked in some namespaces, sorted, as kind/namespace/name.
func (f *follower) in(namespaces ...string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := []string{}
	for ref := range f.tracked {
		if slices.Contains(namespaces, ref.Namespace) {
			found = append(found, ref.String())
		}
	}
	slices.Sort(found)
	return found
}

// await waits until exactly want is tracked in some namespaces.
func (f *follower) await(t *testing.T, namespaces []string, want ...reloader.WorkloadRef) {
	t.Helper()
	names := []string{}
	for _, ref := range want {
		names = append(names, ref.String())
	}
	slices.Sort(names)
	poll(t, func() error {
		if diff := cmp.Diff(names, f.in(namespaces...)); diff != "" {
			return fmt.Errorf("tracked (-want +got):\n%s", diff)
		}
		return nil
	})
}

// awaitThat waits until what is tracked as ref passes a check.
func (f *follower) awaitThat(t *testing.T, ref reloader.WorkloadRef, what string, check func(*workload.Workload) bool) {
	t.Helper()
	poll(t, func() error {
		if w := f.get(ref); w == nil || !check(w) {
			return fmt.Errorf("%s is not tracked %s: %+v", ref, what, w)
		}
		return nil
	})
}

func poll(t *testing.T, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	line.Must(t, line.Poll(ctx, func(context.Context) error { return check() }))
}

func kubectl(t *testing.T, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	if out, err := shared.Kubectl(ctx, args...); err != nil {
		t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// install has the API server serve a kind until the test ends, or what is returned is called.
func install(t *testing.T, crd string) (remove func()) {
	t.Helper()
	kubectl(t, "apply", "-f", "../testdata/crds/"+crd+".yaml")
	kubectl(t, "wait", "--for=condition=Established", "crd/"+crd)
	remove = sync.OnceFunc(func() { kubectl(t, "delete", "crd", crd, "--wait=true") })
	t.Cleanup(remove)
	return remove
}

const (
	rollouts          = "rollouts.argoproj.io"
	deploymentConfigs = "deploymentconfigs.apps.openshift.io"
)

// create creates an object of an optional kind. A resource that is established may need a moment more until it is served.
func create(t *testing.T, kind workload.Kind, namespace, name string, spec map[string]any) {
	t.Helper()
	client, err := dynamic.NewForConfig(shared.RESTConfig())
	line.Must(t, err)
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": kind.Resource.GroupVersion().String(), "kind": kind.Kind, "metadata": map[string]any{"name": name}, "spec": spec,
	}}
	poll(t, func() error {
		_, err := client.Resource(kind.Resource).Namespace(namespace).Create(t.Context(), obj, metav1.CreateOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return line.Stop(err)
		}
		return err
	})
}

// looseTemplate is a pod template whose container takes its environment from a ConfigMap.
func looseTemplate(config string) map[string]any {
	return map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
		"name": "main", "image": "x", "envFrom": []any{map[string]any{"configMapRef": map[string]any{"name": config}}},
	}}}}
}

func createDeployment(t *testing.T, namespace, name, config string) reloader.WorkloadRef {
	t.Helper()
	if _, err := shared.Client().AppsV1().Deployments(namespace).Create(t.Context(), line.Deployment(namespace, name, nil, line.FromConfigMap(config)), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return ref("Deployment", namespace, name)
}

func ref(kind, namespace, name string) reloader.WorkloadRef {
	return reloader.WorkloadRef{Kind: kind, Namespace: namespace, Name: name}
}

// uses returns a check that a workload takes a ConfigMap, and no other.
func uses(config string) func(*workload.Workload) bool {
	return func(w *workload.Workload) bool {
		r := w.Template.References.Get(reloader.Config{Kind: reloader.ConfigMap, Namespace: w.Namespace, Name: config})
		return r != nil && len(w.Template.References) == 1
	}
}

// usesNothing is a check that a workload has no template that is known.
func usesNothing(w *workload.Workload) bool { return len(w.Template.Containers) == 0 && w.Via == nil }

// shared is the cluster of all tests. Nothing acts on what is stored there.
var shared *rig.Cluster

// clientLog has what client-go has logged.
var clientLog safeBuffer

func TestMain(m *testing.M) {
	klog.LogToStderr(false)
	klog.SetOutput(&clientLog)
	rig.Main(m, &shared, rig.Options{ControlPlaneOnly: true})
}

// safeBuffer is a buffer that several goroutines may use.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
