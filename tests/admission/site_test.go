package admission

import (
	"bytes"
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
	s.apply("client", s.configFile("probe", "1"), s.deploymentFile("probe", "probe", "1", auto))
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
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: %s\n", name)
	if ns != "" {
		fmt.Fprintf(&b, "  namespace: %s\n", ns)
	}
	if len(annotations) > 0 {
		b.WriteString("  annotations:\n")
	}
	for _, a := range annotations {
		fmt.Fprintf(&b, "    %s: \"true\"\n", a)
	}
	fmt.Fprintf(&b, `spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
        - name: main
          image: example.com/web:%[2]s
          env: [{name: A, value: "1"}, {name: B, value: "2"}]
          envFrom: [{configMapRef: {name: %[3]s}}]
`, name, image, config)
	return b.String()
}

// apply has files applied in the way of a client: "client" as kubectl does by default, or else by the API server for the field manager of
// that name, which insists on its fields.
func (s *site) apply(manager string, files ...string) {
	s.T.Helper()
	args := []string{"apply"}
	if manager != "client" {
		args = append(args, "--server-side", "--force-conflicts", "--field-manager="+manager)
	}
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

// documents are those of a YAML stream.
func documents(stream []byte) [][]byte { return bytes.Split(stream, []byte("\n---\n")) }
