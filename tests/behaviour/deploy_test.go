package behaviour

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/tools"
)

// stamp is the annotation in which a roll says what it was for.
const stamp = "reroll.dev/applied"

// deployment is a manifest as a user has it in git, without what Reroll writes.
const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, annotations: {reroll.dev/auto: "true"}}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: main, image: "registry.example/IMAGE", envFrom: [{configMapRef: {name: NAME}}]}]}
`

// config is the ConfigMap of a deployment.
const config = `
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME}
data: {k: "CONTENT"}
`

// shopfront is a namespace with a Deployment web and its ConfigMap.
type shopfront struct {
	t  *testing.T
	ns string
	// since is the version of the list after which changes are counted.
	since string
}

func newShopfront(t *testing.T) *shopfront {
	t.Helper()
	s := &shopfront{t: t, ns: shared.Kube.Namespace(t)}
	list, err := shared.Kube.Client().AppsV1().Deployments(s.ns).List(t.Context(), metav1.ListOptions{})
	s.must(err)
	s.since = list.ResourceVersion
	return s
}

// usual creates a Deployment and its ConfigMap, and rolls it once.
func (s *shopfront) usual(name string) {
	s.t.Helper()
	s.kubectl(s.fill(config+"---"+deployment, name, "one", "1"), "apply", "-f", "-")
	s.decided()
	s.edit(name, "two")
	s.decided()
	s.changed(name, 1)
}

// fill puts values into a manifest.
func (s *shopfront) fill(manifest, name, content, image string) string {
	return strings.NewReplacer("NAME", name, "CONTENT", content, "IMAGE", image).Replace(manifest)
}

func (s *shopfront) must(err error) {
	s.t.Helper()
	if err != nil {
		log := shared.Reroll.Log()
		s.t.Fatalf("%v\nreroll's log:\n%s", err, log[max(0, len(log)-4000):])
	}
}

// kubectl runs kubectl in the namespace with a standard input.
func (s *shopfront) kubectl(stdin string, args ...string) {
	s.t.Helper()
	if out, err := s.try(stdin, args...); err != nil {
		s.must(fmt.Errorf("kubectl %v: %w: %s", args, err, out))
	}
}

func (s *shopfront) try(stdin string, args ...string) (string, error) {
	cmd := shared.Kube.Command(s.t.Context(), append([]string{"--namespace=" + s.ns}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// edit gives a ConfigMap new content.
func (s *shopfront) edit(name, content string) {
	s.t.Helper()
	s.kubectl("", "patch", "configmap/"+name, "-p", fmt.Sprintf(`{"data":{"k":%q}}`, content))
}

// decided waits until nothing is in flight.
func (s *shopfront) decided() {
	s.t.Helper()
	s.must(shared.Barrier(s.t.Context(), s.ns))
}

// changed fails the test unless the template of a Deployment has changed n times since it was created, by whomever.
func (s *shopfront) changed(name string, n int) {
	s.t.Helper()
	client := shared.Kube.Client().AppsV1().Deployments(s.ns)
	last, err := client.Patch(s.t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":[]}}`), metav1.PatchOptions{})
	s.must(err)
	watch, err := client.Watch(s.t.Context(), metav1.ListOptions{ResourceVersion: s.since, FieldSelector: "metadata.name=" + name})
	s.must(err)
	defer watch.Stop()
	var before *corev1.PodTemplateSpec
	changes := 0
	for event := range watch.ResultChan() {
		d, ok := event.Object.(*appsv1.Deployment)
		if !ok {
			s.must(fmt.Errorf("watch: %v", event.Object))
		}
		if before != nil && !reflect.DeepEqual(before, &d.Spec.Template) {
			changes++
		}
		if before = &d.Spec.Template; d.ResourceVersion == last.ResourceVersion {
			break
		}
	}
	if changes != n {
		s.t.Errorf("the template of %s changed %d times, want %d", name, changes, n)
	}
}

// afterwards fails the test unless a Deployment whose template has changed n times is done with that, in this process and the next, and rolls once for
// the next edit.
func (s *shopfront) afterwards(name string, n int) {
	s.t.Helper()
	s.decided()
	s.changed(name, n)
	s.must(shared.Reroll.Terminate(s.t.Context()))
	s.must(shared.Reroll.Start())
	s.must(shared.Reroll.WaitReady(s.t.Context()))
	s.decided()
	s.changed(name, n)
	s.edit(name, "last")
	s.decided()
	s.changed(name, n+1)
}

// TestReplace: a manifest without the annotation and the mark takes both away, which is one change. Reroll adds none.
func TestReplace(t *testing.T) {
	s := newShopfront(t)
	s.usual("web")
	s.kubectl(s.fill(deployment, "web", "", "1"), "replace", "-f", "-")
	s.afterwards("web", 2)
}

// TestReplaceAfterAnEdit: what waits for its debounce window is not lost with the annotation, and is one change.
func TestReplaceAfterAnEdit(t *testing.T) {
	s := newShopfront(t)
	s.usual("web")
	s.edit("web", "three")
	s.kubectl(s.fill(deployment, "web", "", "1"), "replace", "-f", "-")
	s.afterwards("web", 3)
}

// TestForcedApply: server-side apply takes away nothing of what it does not name.
func TestForcedApply(t *testing.T) {
	s := newShopfront(t)
	s.usual("web")
	s.kubectl(s.fill(deployment, "web", "", "1"), "apply", "--server-side", "--force-conflicts", "-f", "-")
	s.afterwards("web", 1)
}

// TestHelmUpgrade: without the admission webhook, a release of a new config and a new image is a change of the user and one of Reroll.
func TestHelmUpgrade(t *testing.T) {
	s := newShopfront(t)
	chart := t.TempDir()
	s.must(os.MkdirAll(filepath.Join(chart, "templates"), 0o755))
	for name, text := range map[string]string{
		"Chart.yaml":                "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"templates/config.yaml":     s.fill(config, "web", "{{ .Values.content }}", ""),
		"templates/deployment.yaml": s.fill(deployment, "web", "", "{{ .Values.image }}"),
	} {
		s.must(os.WriteFile(filepath.Join(chart, name), []byte(text), 0o600))
	}
	s.helm("install", "web", chart, "--set", "content=one,image=1")
	s.decided()
	s.helm("upgrade", "web", chart, "--set", "content=two,image=2")
	s.afterwards("web", 2)
	s.helm("upgrade", "web", chart, "--set", "content=two,image=2", "--force-conflicts")
	s.decided()
	s.changed("web", 4) // the upgrade puts the content back, as it is in the release
}

// helm runs the real helm in the namespace.
func (s *shopfront) helm(args ...string) {
	s.t.Helper()
	helm, err := tools.Path(s.t.Context(), "helm")
	s.must(err)
	cmd := exec.CommandContext(s.t.Context(), helm, append(args, "--namespace", s.ns)...)
	home := s.t.TempDir()
	cmd.Env = append(os.Environ(), "KUBECONFIG="+shared.Kube.Kubeconfig(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		s.must(fmt.Errorf("helm %v: %w: %s", args, err, stderr.Bytes()))
	}
}

// problem waits until Reroll says something about the annotation of a Deployment.
func (s *shopfront) problem(name, want string) {
	s.t.Helper()
	line.Eventually(s.t, "a problem of "+name, func(ctx context.Context) error {
		problems, err := shared.Reroll.Problems(ctx, s.ns, name)
		if err == nil && !strings.Contains(strings.Join(problems, "\n"), stamp+": "+want) {
			err = fmt.Errorf("problems are %q, want one with %q", problems, want)
		}
		return err
	})
}
