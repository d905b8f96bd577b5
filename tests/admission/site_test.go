package admission

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/line"
)

// site is a namespace with a ConfigMap and a Deployment, web, as somebody keeps them in files.
type site struct{ *line.Room }

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{line.NewRoom(t, shared)}
	s.answering()
	return s
}

// answering waits until the API server asks the webhook and gets an answer.
func (s *site) answering() {
	s.T.Helper()
	s.apply(s.configFile("probe", "1"), s.deploymentFile("probe", "probe", "1", auto))
	s.AwaitThat("the webhook to be asked", func() bool {
		made := s.Kubectl("set", "image", "--dry-run=server", "-o", "yaml", "deployment/probe", "main=example.com/web:2")
		return strings.Contains(made, "STAKATER_PROBE_CONFIGMAP")
	})
}

// file writes a file and returns its path.
func (s *site) file(name, content string) string {
	s.T.Helper()
	path := filepath.Join(s.T.TempDir(), name)
	s.Must(os.MkdirAll(filepath.Dir(path), 0o755))
	s.Must(os.WriteFile(path, []byte(content), 0o600))
	return path
}

func (s *site) configFile(name, value string) string {
	return s.file("config.yaml", fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\ndata: {key: %q}\n", name, s.NS, value))
}

// deploymentFile is a workload that uses a ConfigMap, with annotations whose value is true.
func (s *site) deploymentFile(name, config, image string, annotations ...string) string {
	return s.file("deployment.yaml", manifest(s.NS, name, config, image, annotations...))
}

func manifest(ns, name, config, image string, annotations ...string) string {
	for i, a := range annotations {
		annotations[i] = a + `: "true"`
	}
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
  namespace: %[2]q
  annotations: {%[3]s}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
        - name: main
          image: example.com/web:%[4]s
          env: [{name: A, value: "1"}, {name: B, value: "2"}]
          envFrom: [{configMapRef: {name: %[5]s}}]
`, name, ns, strings.Join(annotations, ", "), image, config)
}

// apply applies files as kubectl does by default.
func (s *site) apply(files ...string) {
	s.T.Helper()
	args := []string{"apply"}
	for _, f := range files {
		args = append(args, "-f", f)
	}
	s.Kubectl(args...)
}

// mark returns the mark of a ConfigMap that a Deployment carries; empty if it carries none.
func (s *site) mark(name, config string) string {
	s.T.Helper()
	for _, v := range s.Deployment(name).Spec.Template.Spec.Containers[0].Env {
		if v.Name == "STAKATER_"+strings.ToUpper(config)+"_CONFIGMAP" {
			return v.Value
		}
	}
	return ""
}

// replicaSets waits until the controller has seen a Deployment as it is, and returns how many templates it ever had.
func (s *site) replicaSets(name string) int {
	s.T.Helper()
	s.Kubectl("rollout", "status", "deployment/"+name)
	sets, err := s.Client().AppsV1().ReplicaSets(s.NS).List(s.Ctx(), metav1.ListOptions{LabelSelector: "app=" + name})
	s.Must(err)
	return len(sets.Items)
}

// outcomes waits until there are n reloads of a Deployment on record, and returns what became of them, the oldest first.
func (s *site) outcomes(name string, n int) (found []string) {
	s.T.Helper()
	for _, r := range slices.Backward(s.Reloads(name, n)) {
		found = append(found, r.Outcome)
	}
	return found
}
