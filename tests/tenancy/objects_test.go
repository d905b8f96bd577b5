package tenancy

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/tests/line"
)

// owner is a client of a user who may do everything, as who administers the other namespace may there.
func (who *tenant) owner() kubernetes.Interface { return shared.Kube.Client() }

// config creates the ConfigMap app in a namespace.
func (who *tenant) config(as kubernetes.Interface, ns string) {
	who.T.Helper()
	_, err := as.CoreV1().ConfigMaps(ns).Create(who.Ctx(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "app"}, Data: map[string]string{"a": "1"}}, metav1.CreateOptions{})
	who.Must(err)
}

// edit gives the ConfigMap app of a namespace other content.
func (who *tenant) edit(as kubernetes.Interface, ns, value string) {
	who.T.Helper()
	_, err := as.CoreV1().ConfigMaps(ns).Patch(who.Ctx(), "app", types.MergePatchType, fmt.Appendf(nil, `{"data":{"a":%q}}`, value), metav1.PatchOptions{})
	who.Must(err)
}

// secret gives a Secret of the other namespace a password and annotations, as its owner does.
func (who *tenant) secret(name, password string, annotations map[string]string) {
	who.T.Helper()
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name, "annotations": annotations}, "stringData": map[string]string{"password": password},
	})
	who.Must(err)
	_, err = who.owner().CoreV1().Secrets(who.theirs).Patch(who.Ctx(), name, types.ApplyPatchType, text, metav1.PatchOptions{FieldManager: "owner"})
	who.Must(err)
}

// deploy creates a Deployment without pods that refers to the ConfigMap app of its namespace.
func (who *tenant) deploy(as kubernetes.Interface, ns, name string, annotations, marks map[string]string) {
	who.T.Helper()
	d := line.Deployment(ns, name, annotations, line.FromConfigMap("app"))
	d.Spec.Replicas, d.Spec.Template.Annotations = new(int32), marks
	_, err := as.AppsV1().Deployments(ns).Create(who.Ctx(), d, metav1.CreateOptions{})
	who.Must(err)
}

func (who *tenant) deployment(ns, name string) *appsv1.Deployment {
	who.T.Helper()
	d, err := who.owner().AppsV1().Deployments(ns).Get(who.Ctx(), name, metav1.GetOptions{})
	who.Must(err)
	return d
}

// exactly returns nil if a number is as it should be, an error to wait for if it is less, and one to give up if it is more.
func exactly(what string, got, want int64) error {
	err := fmt.Errorf("%s: %d, want %d", what, got, want)
	switch {
	case got > want:
		return line.Stop(err)
	case got < want:
		return err
	}
	return nil
}

// generations waits until Deployments have that generation.
func (who *tenant) generations(ns string, want int64, names ...string) {
	who.T.Helper()
	who.Await("the rolls", func(context.Context) error {
		for _, name := range names {
			if err := exactly("the generation of "+ns+"/"+name, who.deployment(ns, name).Generation, want); err != nil {
				return err
			}
		}
		return nil
	})
}

// workload is what the REST API says of a workload, as far as tests compare it.
type workload struct {
	Dependencies []map[string]any `json:"dependencies"`
	Problems     []string         `json:"problems"`
}

func pathOf(ns, deployment string) string {
	return "/api/v1/workloads/" + line.ClusterName + "/" + ns + "/Deployment/" + deployment
}

// record waits until a Deployment has n dependencies, each with a baseline, and returns its record.
func (who *tenant) record(token, ns, deployment string, n int) (w workload) {
	who.T.Helper()
	who.Await("it to come", func(context.Context) error {
		w = workload{}
		if err := who.read(token, pathOf(ns, deployment), &w); err != nil {
			return err
		}
		for _, d := range w.Dependencies {
			if d["how"] == nil {
				return fmt.Errorf("%s has no baseline of %v", deployment, d["config"])
			}
		}
		if len(w.Dependencies) != n {
			return fmt.Errorf("%s has the dependencies %v, want %d", deployment, w.Dependencies, n)
		}
		return nil
	})
	return w
}

// rollTheirs edits the ConfigMap of the other namespace, and waits until its Deployment web, and nothing else there, has rolled for the nth time.
func (who *tenant) rollTheirs(n int64) {
	who.T.Helper()
	who.edit(who.owner(), who.theirs, fmt.Sprint("by its owner, ", n))
	who.generations(who.theirs, n+1, "web")
	who.Await("the record", func(context.Context) error { return exactly("reloads", int64(len(who.reloads(who.theirs))), n) })
}
