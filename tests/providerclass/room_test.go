package providerclass

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/world"
)

var (
	group       = schema.GroupVersion{Group: "secrets-store.csi.x-k8s.io", Version: "v1"}
	classes     = group.WithResource("secretproviderclasses")
	podStatuses = group.WithResource("secretproviderclasspodstatuses")
)

// room is one test's namespace on the line.
type room struct {
	t       *testing.T
	line    *line.Line
	ctx     context.Context
	world   *world.World
	dynamic dynamic.Interface
	ns      string
}

const testTime = 3 * time.Minute

func newRoom(t *testing.T) *room {
	t.Helper()
	return newRoomOn(t, shared)
}

func newRoomOn(t *testing.T, l *line.Line) *room {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	t.Cleanup(cancel)
	client, err := dynamic.NewForConfig(l.Kube.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	w := world.New(t, l, world.Options{})
	return &room{t: t, line: l, ctx: ctx, world: w, dynamic: client, ns: w.Namespace("main")}
}

func (r *room) must(err error) {
	r.t.Helper()
	if err != nil {
		log := r.line.Reroll.Log()
		r.t.Fatalf("%v\nreroll's log:\n%s", err, log[max(0, len(log)-4000):])
	}
}

type annotations map[string]string

// class creates a SecretProviderClass.
func (r *room) class(name string, with annotations) {
	r.t.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group.String(), "kind": "SecretProviderClass", "spec": map[string]any{"provider": "none"},
	}}
	obj.SetName(name)
	obj.SetAnnotations(with)
	_, err := r.dynamic.Resource(classes).Namespace(r.ns).Create(r.ctx, obj, metav1.CreateOptions{})
	r.must(err)
}

// mount creates the PodStatus of a pod that has mounted a class, as the driver does.
func (r *room) mount(pod, class, version string) {
	r.t.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group.String(), "kind": "SecretProviderClassPodStatus", "status": map[string]any{
			"podName": pod, "mounted": true, "targetPath": "/pods/" + pod, "secretProviderClassName": class, "objects": objects(version),
		},
	}}
	obj.SetName(r.podStatus(pod, class))
	obj.SetLabels(map[string]string{"internal.secrets-store.csi.k8s.io/node-name": "node"})
	_, err := r.dynamic.Resource(podStatuses).Namespace(r.ns).Create(r.ctx, obj, metav1.CreateOptions{FieldManager: "driver"})
	r.must(err)
}

func (r *room) podStatus(pod, class string) string { return pod + "-" + r.ns + "-" + class }

func objects(version string) []any { return []any{map[string]any{"id": "db", "version": version}} }

// rotate updates the PodStatus of a pod, as the driver does when the store has another version.
func (r *room) rotate(pod, class, version string) {
	r.t.Helper()
	where := r.dynamic.Resource(podStatuses).Namespace(r.ns)
	obj, err := where.Get(r.ctx, r.podStatus(pod, class), metav1.GetOptions{})
	r.must(err)
	r.must(unstructured.SetNestedSlice(obj.Object, objects(version), "status", "objects"))
	_, err = where.Update(r.ctx, obj, metav1.UpdateOptions{FieldManager: "driver"})
	r.must(err)
}

// unmount deletes the PodStatus of a pod that is gone.
func (r *room) unmount(pod, class string) {
	r.t.Helper()
	r.must(r.dynamic.Resource(podStatuses).Namespace(r.ns).Delete(r.ctx, r.podStatus(pod, class), metav1.DeleteOptions{}))
}

// deploy creates a Deployment that mounts a class.
func (r *room) deploy(name, class string, with annotations) {
	r.t.Helper()
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: with},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{
					Name: "main", Image: "example.com/main", VolumeMounts: []corev1.VolumeMount{{Name: "store", MountPath: "/store"}},
				}},
				Volumes: []corev1.Volume{{Name: "store", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{
					Driver: "secrets-store.csi.k8s.io", VolumeAttributes: map[string]string{"secretProviderClass": class},
				}}}},
			}},
		},
	}
	_, err := r.line.Kube.Client().AppsV1().Deployments(r.ns).Create(r.ctx, d, metav1.CreateOptions{})
	r.must(err)
}

func (r *room) get(name string) *appsv1.Deployment {
	r.t.Helper()
	d, err := r.line.Kube.Client().AppsV1().Deployments(r.ns).Get(r.ctx, name, metav1.GetOptions{})
	r.must(err)
	return d
}

// quiesce waits until everything that was caused so far has happened.
func (r *room) quiesce() {
	r.t.Helper()
	r.must(r.world.Quiesce(r.ctx))
}

// expect waits until every Deployment has rolled as often as it is to, and checks that none rolls more often.
func (r *room) expect(rolls map[string]int64) {
	r.t.Helper()
	for name, n := range rolls {
		r.must(line.Poll(r.ctx, func(context.Context) error {
			if got := r.get(name).Generation - 1; got < n {
				return fmt.Errorf("%s rolled %d times, not %d", name, got, n)
			}
			return nil
		}))
	}
	r.quiesce()
	for name, n := range rolls {
		if got := r.get(name).Generation - 1; got != n { // nobody but Reroll writes its spec
			r.must(fmt.Errorf("%s rolled %d times, not %d", name, got, n))
		}
	}
}

// mark returns the variable by which a Deployment was rolled because of the class vault.
func (r *room) mark(name string) string {
	r.t.Helper()
	for _, e := range r.get(name).Spec.Template.Spec.Containers[0].Env {
		if e.Name == "STAKATER_VAULT_SECRETPROVIDERCLASS" {
			return e.Value
		}
	}
	return ""
}
