package admission

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/tests/line"
)

// site is a namespace with a ConfigMap and a Deployment, web, as somebody keeps them in files.
type site struct {
	t      *testing.T
	ctx    context.Context
	client kubernetes.Interface
	ns     string
}

const testTime = 4 * time.Minute

func newSite(t *testing.T) *site {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	t.Cleanup(cancel)
	s := &site{t: t, ctx: ctx, client: shared.Kube.Client(), ns: shared.Kube.Namespace(t)}
	s.answering()
	return s
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		log := shared.Reroll.Log()
		s.t.Fatalf("%v\nreroll's log:\n%s", err, log[max(0, len(log)-6000):])
	}
}

// await waits until check returns nil.
func (s *site) await(check func() error) {
	s.t.Helper()
	s.must(line.Poll(s.ctx, func(context.Context) error { return check() }))
}

// answering waits until the API server asks the webhook and gets an answer.
func (s *site) answering() {
	s.t.Helper()
	s.apply("client", s.configFile("probe", "1"), s.deploymentFile("probe", "probe", "1", auto))
	s.await(func() error {
		if !strings.Contains(s.probed(), "STAKATER_PROBE_CONFIGMAP") {
			return errors.New("the webhook is not asked")
		}
		return nil
	})
}

// probed returns what a dry run makes of a new image of the probe.
func (s *site) probed() string {
	s.t.Helper()
	made, err := shared.Kube.Kubectl(s.ctx, "set", "image", "--namespace="+s.ns, "--dry-run=server", "-o", "yaml", "deployment/probe", "main=example.com/web:2")
	s.must(err)
	return made
}

// file writes a file and returns its path.
func (s *site) file(name, content string) string {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), name)
	s.must(os.MkdirAll(filepath.Dir(path), 0o755))
	s.must(os.WriteFile(path, []byte(content), 0o600))
	return path
}

func (s *site) configFile(name, value string) string {
	return s.file("config.yaml", fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\ndata: {key: %q}\n", name, s.ns, value))
}

// deploymentFile is a workload that uses a ConfigMap, with annotations whose value is true.
func (s *site) deploymentFile(name, config, image string, annotations ...string) string {
	return s.file("deployment.yaml", manifest(s.ns, name, config, image, annotations...))
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
	s.t.Helper()
	args := []string{"apply", "--namespace=" + s.ns}
	if manager != "client" {
		args = append(args, "--server-side", "--force-conflicts", "--field-manager="+manager)
	}
	for _, f := range files {
		args = append(args, "-f", f)
	}
	s.kubectl(args...)
}

func (s *site) kubectl(args ...string) {
	s.t.Helper()
	_, err := shared.Kube.Kubectl(s.ctx, args...)
	s.must(err)
}

// helm runs the real helm in the namespace.
func (s *site) helm(args ...string) {
	s.t.Helper()
	cmd := exec.CommandContext(s.ctx, helm, append(args, "--namespace", s.ns)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+shared.Kube.Kubeconfig(), "HELM_CACHE_HOME="+s.t.TempDir(), "HELM_CONFIG_HOME="+s.t.TempDir(), "HELM_DATA_HOME="+s.t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		s.must(fmt.Errorf("helm %s: %w: %s", strings.Join(args, " "), err, stderr.Bytes()))
	}
}

func (s *site) deployment(name string) *appsv1.Deployment {
	s.t.Helper()
	d, err := s.client.AppsV1().Deployments(s.ns).Get(s.ctx, name, metav1.GetOptions{})
	s.must(err)
	return d
}

// mark returns the mark of a ConfigMap that a Deployment carries; empty if it carries none.
func (s *site) mark(name, config string) string {
	s.t.Helper()
	for _, v := range s.deployment(name).Spec.Template.Spec.Containers[0].Env {
		if v.Name == "STAKATER_"+strings.ToUpper(config)+"_CONFIGMAP" {
			return v.Value
		}
	}
	return ""
}

// replicaSets waits until the controller has seen a Deployment as it is, and returns how many templates it ever had.
func (s *site) replicaSets(name string) int {
	s.t.Helper()
	s.kubectl("rollout", "status", "--namespace="+s.ns, "deployment/"+name)
	sets, err := s.client.AppsV1().ReplicaSets(s.ns).List(s.ctx, metav1.ListOptions{LabelSelector: "app=" + name})
	s.must(err)
	return len(sets.Items)
}

// settled waits until Reroll has a baseline of a Deployment's config.
func (s *site) settled(name string) {
	s.t.Helper()
	s.await(func() error {
		n, err := shared.Reroll.Baselines(s.ctx, s.ns, name)
		if err == nil && n != 1 {
			err = fmt.Errorf("%s has %d baselines", name, n)
		}
		return err
	})
}

// outcomes waits until there are n reloads of a Deployment on record, and returns what became of them, the oldest first.
func (s *site) outcomes(name string, n int) []string {
	s.t.Helper()
	var found []string
	s.await(func() error {
		reloads, err := shared.Reroll.Reloads(s.ctx, s.ns)
		found = nil
		for _, r := range slices.Backward(reloads) {
			if r.Workload.Name == name {
				found = append(found, r.Outcome)
			}
		}
		if err == nil && len(found) < n {
			err = fmt.Errorf("%s has the reloads %v", name, found)
		}
		return err
	})
	return found
}

// documents are those of a YAML stream.
func documents(stream []byte) [][]byte { return bytes.Split(stream, []byte("\n---\n")) }
