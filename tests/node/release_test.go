//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/tests/line"
)

// testTime bounds a test, stepTime one wait in it.
const (
	testTime = 15 * time.Minute
	stepTime = 3 * time.Minute
)

// site is the node as a test uses it, with the release and the workloads of a namespace.
type site struct {
	*node
	t      *testing.T
	ctx    context.Context
	client kubernetes.Interface
	// ns is a namespace for workloads. It admits what runs under the restricted profile, and nothing else.
	ns string
	// api is what has the REST API.
	api string
}

func newSite(t *testing.T) *site {
	t.Helper()
	n := need(t)
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	t.Cleanup(cancel)
	s := &site{node: n, t: t, ctx: ctx, client: n.kube.Client(), ns: n.kube.Namespace(t), api: "pod/" + pod}
	s.restrict(s.ns)
	t.Cleanup(s.explain)
	return s
}

// explain says in a failed test what became of everything.
func (s *site) explain() {
	if !s.t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, args := range [][]string{
		{"get", "pods", "--all-namespaces", "--output=wide"},
		{"get", "events", "--all-namespaces", "--sort-by=.lastTimestamp"},
		{"logs", "--namespace=" + namespace, "--selector=app.kubernetes.io/instance=" + release, "--tail=40"},
		{"logs", "--namespace=" + namespace, pod, "--tail=20", "--previous"},
	} {
		out, err := s.kube.Kubectl(ctx, args...)
		s.t.Logf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	for _, p := range s.programs {
		s.t.Log(p.tail())
	}
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// await waits until check returns nil.
func (s *site) await(check func(ctx context.Context) error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, stepTime)
	defer cancel()
	s.must(line.Poll(ctx, check))
}

func (s *site) kubectl(args ...string) string {
	s.t.Helper()
	out, err := s.kube.Kubectl(s.ctx, args...)
	s.must(err)
	return out
}

// apply is kubectl apply of a manifest.
func (s *site) apply(ns, manifest string) {
	s.t.Helper()
	_, err := s.tryApply(ns, manifest)
	s.must(err)
}

func (s *site) tryApply(ns, manifest string) (string, error) {
	cmd := s.kube.Command(s.ctx, "apply", "--namespace="+ns, "--filename=-")
	cmd.Stdin = strings.NewReader(manifest)
	return output(cmd)
}

// runHelm runs the real program about the release, and returns what it prints.
func (s *site) runHelm(args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.ctx, s.helm, append(args, "--namespace="+namespace)...)
	home := s.t.TempDir()
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.kube.Kubeconfig(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	out, err := output(cmd)
	s.must(err)
	return out
}

// space makes the namespace of the release, unless it is there already.
func (s *site) space() {
	s.t.Helper()
	s.apply("default", "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+namespace+"}\n")
	s.restrict(namespace)
}

// restrict has a namespace admit only what runs under the restricted profile of pod security.
func (s *site) restrict(ns string) {
	s.t.Helper()
	s.kubectl("label", "--overwrite", "namespace", ns, "pod-security.kubernetes.io/enforce=restricted")
}

// certificates makes the Secret of the ingest's certificate, or another one in its place.
func (s *site) certificates() {
	s.t.Helper()
	pair, err := s.audit.Server(ingestHost, ingestHost)
	s.must(err)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: release + "-reroll-ingest-tls", Namespace: namespace},
		Data:       map[string][]byte{"tls.crt": pair.CertPEM, "tls.key": pair.KeyPEM, "ca.crt": s.audit.CertPEM()},
	}
	secrets := s.client.CoreV1().Secrets(namespace)
	if _, err := secrets.Create(s.ctx, secret, metav1.CreateOptions{}); err == nil {
		return
	}
	_, err = secrets.Update(s.ctx, secret, metav1.UpdateOptions{})
	s.must(err)
}

// volume makes a volume on the node for the claim of the release's first pod: nobody provisions any here.
func (s *site) volume() {
	s.t.Helper()
	path := filepath.Join(s.dir, "volume")
	s.must(os.Mkdir(path, 0o755))
	s.apply(namespace, fmt.Sprintf(`apiVersion: v1
kind: PersistentVolume
metadata: {name: data}
spec:
  capacity: {storage: 4Gi}
  accessModes: [ReadWriteOnce]
  claimRef: {namespace: %s, name: %s-reroll-data}
  local: {path: %s}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%s]}]}]}}
`, namespace, release, path, nodeName))
}

// process returns the number of the process of a container, here in the namespace of all, by how its command line begins; 0 if there is
// none.
func (s *site) process(args ...string) int {
	s.t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	s.must(err)
	for _, file := range files {
		// One that has ended meanwhile has none.
		line, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(line), strings.Join(args, "\x00")+"\x00") {
			continue
		}
		var pid int
		_, err = fmt.Sscanf(file, "/proc/%d/", &pid)
		s.must(err)
		return pid
	}
	return 0
}

// reroll returns the release's REST API, by kubectl port-forward as its notes say, until the test ends.
func (s *site) reroll() *line.Reroll {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	cmd := s.kube.Command(ctx, "port-forward", "--namespace="+namespace, s.api, ":8080")
	out, err := cmd.StdoutPipe()
	s.must(err)
	s.must(cmd.Start())
	s.t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})
	var port int
	if _, err := fmt.Fscanf(out, "Forwarding from 127.0.0.1:%d -> 8080", &port); err != nil {
		s.t.Fatalf("kubectl port-forward leads nowhere: %v", err)
	}
	return &line.Reroll{API: fmt.Sprintf("http://127.0.0.1:%d", port)}
}

// ready waits until the release's pod is ready, has been started again so many times, and is another one than that with the given UID.
func (s *site) ready(restarts int32, other string) *corev1.Pod {
	s.t.Helper()
	var found *corev1.Pod
	s.await(func(ctx context.Context) (err error) {
		if found, err = s.client.CoreV1().Pods(namespace).Get(ctx, pod, metav1.GetOptions{}); err != nil {
			return err
		}
		statuses := found.Status.ContainerStatuses
		if string(found.UID) == other || len(statuses) == 0 || !statuses[0].Ready || statuses[0].RestartCount != restarts {
			return fmt.Errorf("the pod is not ready: %+v", statuses)
		}
		return nil
	})
	return found
}

// app is a Deployment of the namespace that uses a ConfigMap and a Secret.
const app = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations: {reloader.stakater.com/auto: "true"}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      securityContext: {runAsNonRoot: true, runAsUser: 1000, seccompProfile: {type: RuntimeDefault}}
      containers:
        - name: main
          image: ` + pauseImage + `
          args: [GREETING, PASSWORD, STAKATER_SETTINGS_CONFIGMAP, STAKATER_ACCOUNT_SECRET]
          env:
            - {name: GREETING, valueFrom: {configMapKeyRef: {name: settings, key: greeting}}}
            - {name: PASSWORD, valueFrom: {secretKeyRef: {name: account, key: password}}}
          securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
`

// says waits until the app has rolled out so that its newest pods run with some text in their environment, and no others do.
func (s *site) says(want string) {
	s.t.Helper()
	s.await(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, stepTime)
		defer cancel()
		if err := s.kube.WaitRollout(ctx, s.ns, "deployment", "web"); err != nil {
			return err
		}
		said, err := s.kube.Kubectl(ctx, "logs", "--namespace="+s.ns, "--selector=app=web", "--tail=-1")
		if err == nil && (!strings.Contains(said, want+"\n") || strings.Count(said, "GREETING=") != 1) {
			err = fmt.Errorf("the pods say %q, want %q", said, want)
		}
		return err
	})
}

// rolls fails the test unless the app was rolled so many times, by what Reroll says and by its templates.
func (s *site) rolls(want int) {
	s.t.Helper()
	var reloads []line.Reload
	s.await(func(ctx context.Context) (err error) { // the record follows the patch
		reloads, err = s.reroll().Reloads(ctx, s.ns)
		if err == nil && len(reloads) < want {
			err = fmt.Errorf("%d reloads are on record, not %d", len(reloads), want)
		}
		return err
	})
	if len(reloads) != want {
		s.t.Errorf("%d reloads, want %d: %+v", len(reloads), want, reloads)
	}
	sets, err := s.client.AppsV1().ReplicaSets(s.ns).List(s.ctx, metav1.ListOptions{LabelSelector: "app=web"})
	s.must(err)
	if len(sets.Items) != want+1 {
		s.t.Errorf("%d ReplicaSets, want that of the start and %d", len(sets.Items), want)
	}
}

// settled waits until Reroll knows what the app runs with: what changes from then on rolls it.
func (s *site) settled() {
	s.t.Helper()
	r := s.reroll()
	s.await(func(ctx context.Context) error {
		n, err := r.Baselines(ctx, s.ns, "web")
		if err == nil && n != 2 {
			err = errors.New("there are no baselines yet")
		}
		return err
	})
}

// greet writes the ConfigMap of the app.
func (s *site) greet(text string) {
	s.t.Helper()
	s.apply(s.ns, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {greeting: %s}\n", text))
}
