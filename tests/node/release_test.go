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

	"github.com/reroll-dev/reroll/tests/guide"
	"github.com/reroll-dev/reroll/tests/line"
)

const (
	root = "../.."
	// testTime bounds a test, stepTime one wait in it.
	testTime = 15 * time.Minute
	stepTime = 2 * time.Minute
)

// site is the node as a user has it who follows the documents, with the release and a namespace for workloads.
type site struct {
	*node
	*guide.Reader
	t      *testing.T
	ctx    context.Context
	client kubernetes.Interface
	// ns admits what runs under the restricted profile, and nothing else. It is that of the user's kubeconfig.
	ns string
	// edits is how often a config of the app has changed.
	edits int
}

func newSite(t *testing.T) *site {
	t.Helper()
	n := need(t)
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	t.Cleanup(cancel)
	s := &site{node: n, Reader: guide.NewReader(t, root), t: t, ctx: ctx, client: n.kube.Client(), ns: n.kube.Namespace(t)}
	s.restrict(s.ns)
	content, err := os.ReadFile(n.kube.Kubeconfig())
	s.must(err)
	s.must(os.WriteFile(filepath.Join(s.Dir, "kubeconfig"), content, 0o600))
	s.Env = append(s.Env, "KUBECONFIG="+filepath.Join(s.Dir, "kubeconfig"))
	s.Link(t, "kubectl", n.kube.Command(ctx).Path)
	s.Follow(t, "kubectl config set-context --current --namespace="+s.ns)
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
		{"logs", "--namespace=" + namespace, "--selector=app.kubernetes.io/instance=reroll", "--tail=40"},
		{"logs", "--namespace=" + namespace, pod, "--tail=20", "--previous"},
	} {
		out, err := s.kube.Kubectl(ctx, args...)
		s.t.Logf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	for _, p := range s.programs {
		s.t.Log(p.Tail())
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
	var last error // the end of the time says nothing
	err := line.Poll(ctx, func(ctx context.Context) error {
		err := check(ctx)
		if ctx.Err() == nil {
			last = err
		}
		return err
	})
	if err != nil {
		s.t.Fatal(errors.Join(err, last))
	}
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
  claimRef: {namespace: %s, name: reroll-data}
  local: {path: %s}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%s]}]}]}}
`, namespace, path, nodeName))
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

// app is the Deployment web of the README, with the ConfigMap and a Secret that it uses.
const app = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: blue}
---
apiVersion: v1
kind: Secret
metadata: {name: account}
stringData: {password: one}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      securityContext: {runAsNonRoot: true, runAsUser: 1000, seccompProfile: {type: RuntimeDefault}}
      containers:
        - name: main
          image: ` + pauseImage + `
          args: [COLOUR, PASSWORD]
          env:
            - {name: COLOUR, valueFrom: {configMapKeyRef: {name: settings, key: colour}}}
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
		if err == nil && (!strings.Contains(said, want+"\n") || strings.Count(said, "COLOUR=") != 1) {
			err = fmt.Errorf("the pods say %q, want %q", said, want)
		}
		return err
	})
}

// edit changes the ConfigMap of the app.
func (s *site) edit(colour string) {
	s.t.Helper()
	s.edits++
	s.kubectl("patch", "configmap", "settings", "--namespace="+s.ns, fmt.Sprintf(`--patch={"data":{"colour":%q}}`, colour))
}

// rolled waits until the app runs with an edit, and fails the test unless each edit so far has rolled it once.
func (s *site) rolled(want string) {
	s.t.Helper()
	s.says(want)
	deployment, err := s.client.AppsV1().Deployments(s.ns).Get(s.ctx, "web", metav1.GetOptions{})
	s.must(err)
	if got := deployment.Annotations["deployment.kubernetes.io/revision"]; got != fmt.Sprint(s.edits+1) {
		s.t.Errorf("after %d edits the app is at revision %s", s.edits, got)
	}
}

// tells waits until a command prints a text.
func (s *site) tells(want, command string) {
	s.t.Helper()
	s.await(func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, "sh", "-euc", command)
		cmd.Dir, cmd.Env = s.Dir, s.Env
		said, err := cmd.CombinedOutput()
		if !strings.Contains(string(said), want) {
			return fmt.Errorf("%s: %v, and not %q: %s", command, err, want, said)
		}
		return nil
	})
}
