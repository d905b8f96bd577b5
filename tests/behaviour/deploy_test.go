package behaviour

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
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

// room is a namespace with a Deployment web and its ConfigMap.
type room struct {
	*line.Room
	// since is the version of the list after which changes are counted.
	since string
}

func newRoom(t *testing.T) *room {
	t.Helper()
	s := &room{Room: line.NewRoom(t, shared)}
	list, err := s.Client().AppsV1().Deployments(s.NS).List(t.Context(), metav1.ListOptions{})
	s.Must(err)
	s.since = list.ResourceVersion
	return s
}

// of returns the room for a part of the test that it was made for.
func (s *room) of(t *testing.T) *room {
	return &room{Room: &line.Room{T: t, Line: s.Line, NS: s.NS}, since: s.since}
}

// usual creates a Deployment and its ConfigMap, and rolls it once.
func (s *room) usual(name string) {
	s.T.Helper()
	s.KubectlWith(fill(config+"---"+deployment, name, "one", "1"), "apply", "-f", "-")
	s.Quiet()
	s.Edit(name, "two")
	s.Quiet()
	s.changed(name, 1)
}

// fill puts values into a manifest.
func fill(manifest, name, content, image string) string {
	return strings.NewReplacer("NAME", name, "CONTENT", content, "IMAGE", image).Replace(manifest)
}

// changed fails the test unless the template of a Deployment has changed n times since it was created, by whomever.
func (s *room) changed(name string, n int) {
	s.T.Helper()
	last := s.Deployment(name)
	watch, err := s.Client().AppsV1().Deployments(s.NS).Watch(s.Ctx(), metav1.ListOptions{ResourceVersion: s.since, FieldSelector: "metadata.name=" + name})
	s.Must(err)
	defer watch.Stop()
	var before *corev1.PodTemplateSpec
	changes := 0
	for event := range watch.ResultChan() {
		d, ok := event.Object.(*appsv1.Deployment)
		if !ok {
			s.Must(fmt.Errorf("watch: %v", event.Object))
		}
		if before != nil && !reflect.DeepEqual(before, &d.Spec.Template) {
			changes++
		}
		if before = &d.Spec.Template; d.ResourceVersion == last.ResourceVersion {
			break
		}
	}
	if changes != n {
		s.T.Errorf("the template of %s changed %d times, want %d", name, changes, n)
	}
}

// deploys are what people do to a Deployment, and how often its template has changed afterwards, by people and by Reroll.
var deploys = map[string]struct {
	do      func(s *room)
	changes int
}{
	"a manifest without the annotation and the mark takes both away, which is one change; Reroll adds none": {func(s *room) {
		s.usual("web")
		s.KubectlWith(fill(deployment, "web", "", "1"), "replace", "-f", "-")
	}, 2},
	"what waits for its debounce window is not lost with the annotation, and is one change": {func(s *room) {
		s.usual("web")
		s.Edit("web", "three")
		s.KubectlWith(fill(deployment, "web", "", "1"), "replace", "-f", "-")
	}, 3},
	"kubectl rollout undo is one change; Reroll adds none": {func(s *room) {
		s.KubectlWith(fill(config+"---"+deployment, "web", "one", "1"), "apply", "-f", "-")
		s.Kubectl("wait", "--for=jsonpath={.status.observedGeneration}=1", "--timeout=2m", "deployment/web")
		s.usual("web")
		s.Kubectl("wait", "--for=jsonpath={.status.observedGeneration}=2", "--timeout=2m", "deployment/web")
		s.Kubectl("rollout", "undo", "deployment/web")
	}, 2},
	"server-side apply takes away nothing of what it does not name": {func(s *room) {
		s.usual("web")
		s.KubectlWith(fill(deployment, "web", "", "1"), "apply", "--server-side", "--force-conflicts", "-f", "-")
	}, 1},
	"without the admission webhook, a release of a new config and a new image is a change of the user and one of Reroll": {func(s *room) {
		chart := s.T.TempDir()
		s.Must(os.MkdirAll(filepath.Join(chart, "templates"), 0o755))
		for name, text := range map[string]string{
			"Chart.yaml":                "apiVersion: v2\nname: web\nversion: 1.0.0\n",
			"templates/config.yaml":     fill(config, "web", "{{ .Values.content }}", ""),
			"templates/deployment.yaml": fill(deployment, "web", "", "{{ .Values.image }}"),
		} {
			s.Must(os.WriteFile(filepath.Join(chart, name), []byte(text), 0o600))
		}
		s.Helm("install", "web", chart, "--set", "content=one,image=1")
		s.Quiet()
		s.Helm("upgrade", "web", chart, "--set", "content=two,image=2")
	}, 2},
}

// TestDeploys: Reroll is done with a deployment in this process and in the next, and the next edit rolls once. The controller of Deployments runs, which
// keeps the history for kubectl rollout undo; that of ReplicaSets does not, whose pods nothing here would start.
func TestDeploys(t *testing.T) {
	parts, err := kube.Parts(t.Context())
	line.Must(t, err)
	controllers, err := kube.StartProgram(parts.Path(kube.ControllerManager), []string{
		"--kubeconfig=" + shared.Kube.Kubeconfig(), "--controllers=deployment-controller", "--leader-elect=false", "--secure-port=0",
	}, t.TempDir())
	line.Must(t, err)
	t.Cleanup(controllers.Kill)
	rooms := map[string]*room{}
	for name := range deploys {
		rooms[name] = newRoom(t)
	}
	each := func(what string, do func(s *room, name string)) {
		t.Run(what, func(t *testing.T) {
			for name, s := range rooms {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					do(s.of(t), name)
				})
			}
		})
	}
	each("deployed", func(s *room, name string) {
		deploys[name].do(s)
		s.Quiet()
		s.changed("web", deploys[name].changes)
	})
	(&line.Room{T: t, Line: shared}).Restart()
	each("in the next process", func(s *room, name string) { s.next("web", deploys[name].changes) })
}

// next fails the test unless a Deployment whose template has changed n times is done with that, and rolls once for the next edit.
func (s *room) next(name string, n int) {
	s.T.Helper()
	s.Quiet()
	s.changed(name, n)
	s.Edit(name, "last")
	s.Quiet()
	s.changed(name, n+1)
}
