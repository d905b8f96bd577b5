package line

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/tests/tools"
)

// Room is one test's namespace on a line. What fails there ends the test, with the end of Reroll's log.
type Room struct {
	T    testing.TB
	Line *Line
	NS   string
}

// NewRoom makes a namespace.
func NewRoom(t testing.TB, l *Line) *Room {
	t.Helper()
	return &Room{T: t, Line: l, NS: l.Kube.Namespace(t)}
}

// Ctx ends with the test.
func (r *Room) Ctx() context.Context { return r.T.Context() }

// Client is one of a user who may do everything.
func (r *Room) Client() kubernetes.Interface { return r.Line.Kube.Client() }

// Must fails the test if err is one.
func (r *Room) Must(err error) {
	r.T.Helper()
	if err != nil {
		r.T.Fatalf("%v\nreroll's log ends with:\n%s", err, r.Line.Reroll.Tail())
	}
}

// Await waits until check returns nil.
func (r *Room) Await(what string, check func(context.Context) error) {
	r.T.Helper()
	if err := Poll(r.Ctx(), check); err != nil {
		r.Must(fmt.Errorf("%s: %w", what, err))
	}
}

// AwaitThat waits until holds is true.
func (r *Room) AwaitThat(what string, holds func() bool) {
	r.T.Helper()
	r.Await(what, func(context.Context) error {
		if !holds() {
			return fmt.Errorf("not so yet")
		}
		return nil
	})
}

// Quiet waits until nothing is in flight in the namespace.
func (r *Room) Quiet() {
	r.T.Helper()
	r.Must(r.Line.Barrier(r.Ctx(), r.NS))
}

// Stop ends the process in order, and Start starts the next one.
func (r *Room) Stop() {
	r.T.Helper()
	r.Must(r.Line.Reroll.Terminate(r.Ctx()))
}

// Start starts the process, with more flags, and returns when it is ready.
func (r *Room) Start(flags ...string) {
	r.T.Helper()
	r.Must(r.Line.Reroll.Start(flags...))
	r.Must(r.Line.Reroll.WaitReady(r.Ctx()))
}

// Restart ends the process in order, and starts the next one.
func (r *Room) Restart(flags ...string) {
	r.T.Helper()
	r.Stop()
	r.Start(flags...)
}

// Config makes a ConfigMap with the key k.
func (r *Room) Config(name, value string) {
	r.T.Helper()
	_, err := r.Client().CoreV1().ConfigMaps(r.NS).Create(r.Ctx(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": value},
	}, metav1.CreateOptions{})
	r.Must(err)
}

// Secret makes a Secret with the key k.
func (r *Room) Secret(name, value string) {
	r.T.Helper()
	_, err := r.Client().CoreV1().Secrets(r.NS).Create(r.Ctx(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"k": value},
	}, metav1.CreateOptions{})
	r.Must(err)
}

// Edit gives the key k of a ConfigMap another value.
func (r *Room) Edit(name, value string) {
	r.T.Helper()
	_, err := r.Client().CoreV1().ConfigMaps(r.NS).Patch(r.Ctx(), name, types.MergePatchType, fmt.Appendf(nil, `{"data":{"k":%q}}`, value), metav1.PatchOptions{})
	r.Must(err)
}

// EditSecret gives the key k of a Secret another value.
func (r *Room) EditSecret(name, value string) {
	r.T.Helper()
	_, err := r.Client().CoreV1().Secrets(r.NS).Patch(r.Ctx(), name, types.MergePatchType, fmt.Appendf(nil, `{"stringData":{"k":%q}}`, value), metav1.PatchOptions{})
	r.Must(err)
}

// Auto asks for rolls for all that a workload uses.
var Auto = map[string]string{"reloader.stakater.com/auto": "true"}

// Deploy makes a Deployment of one container that takes its environment from configs.
func (r *Room) Deploy(name string, annotations map[string]string, from ...corev1.EnvFromSource) {
	r.T.Helper()
	_, err := r.Client().AppsV1().Deployments(r.NS).Create(r.Ctx(), Deployment(r.NS, name, maps.Clone(annotations), from...), metav1.CreateOptions{})
	r.Must(err)
}

// Deployment returns a Deployment as it is.
func (r *Room) Deployment(name string) *appsv1.Deployment {
	r.T.Helper()
	d, err := r.Client().AppsV1().Deployments(r.NS).Get(r.Ctx(), name, metav1.GetOptions{})
	r.Must(err)
	return d
}

// Rolls returns how often the spec of a Deployment has changed. In these tests only Reroll writes it.
func (r *Room) Rolls(name string) int { return int(r.Deployment(name).Generation - 1) }

// Rolled waits until a Deployment has rolled n times, and checks that it rolls no more.
func (r *Room) Rolled(name string, n int) {
	r.T.Helper()
	r.Await(fmt.Sprintf("%d rolls of %s", n, name), func(context.Context) error {
		if got := r.Rolls(name); got < n {
			return fmt.Errorf("it has rolled %d times", got)
		}
		return nil
	})
	r.Quiet()
	if got := r.Rolls(name); got != n {
		r.Must(fmt.Errorf("%s has rolled %d times, want %d", name, got, n))
	}
}

// Baselines waits until Reroll knows what n configs of a Deployment were when it was first seen.
func (r *Room) Baselines(name string, n int) {
	r.T.Helper()
	r.Await("baselines of "+name, func(ctx context.Context) error {
		got, err := r.Line.Reroll.Baselines(ctx, r.NS, name)
		if err == nil && got != n {
			err = fmt.Errorf("%d, want %d", got, n)
		}
		return err
	})
}

// Reloads waits until n reloads of a workload are on record, and returns all, the newest first.
func (r *Room) Reloads(name string, n int) (found []Reload) {
	r.T.Helper()
	r.Await("reloads of "+name, func(ctx context.Context) error {
		all, err := r.Line.Reroll.Reloads(ctx, r.NS)
		found = nil
		for _, reload := range all {
			if reload.Workload.Name == name {
				found = append(found, reload)
			}
		}
		if err == nil && len(found) < n {
			err = fmt.Errorf("%d are on record, want %d", len(found), n)
		}
		return err
	})
	return found
}

// Kubectl runs kubectl in the namespace, and returns what it prints.
func (r *Room) Kubectl(args ...string) string {
	r.T.Helper()
	return r.KubectlWith("", args...)
}

// KubectlWith is Kubectl with a standard input. It repeats a command after a conflict, as a user does: a roll may come between its read and its write.
func (r *Room) KubectlWith(stdin string, args ...string) string {
	r.T.Helper()
	for {
		cmd := r.Line.Kube.Command(r.Ctx(), append([]string{"--namespace=" + r.NS}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err == nil {
			return string(out)
		}
		if !strings.Contains(string(out), "(Conflict)") {
			r.Must(fmt.Errorf("kubectl %v: %w: %s", args, err, out))
		}
	}
}

// Helm runs the real helm in the namespace.
func (r *Room) Helm(args ...string) {
	r.T.Helper()
	helm, err := tools.Path(r.Ctx(), "helm")
	r.Must(err)
	home := r.T.TempDir()
	_, err = r.run(exec.CommandContext(r.Ctx(), helm, append(args, "--namespace", r.NS)...), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	r.Must(err)
}

// Reroll runs the binary with the kubeconfig alone, and returns what it prints.
func (r *Room) Reroll(args ...string) (string, error) {
	r.T.Helper()
	binary, err := Build(r.Ctx())
	r.Must(err)
	return r.run(exec.CommandContext(r.Ctx(), binary, args...), "REROLL_SERVER=")
}

func (r *Room) run(cmd *exec.Cmd, environment ...string) (string, error) {
	cmd.Env = append(append(os.Environ(), "KUBECONFIG="+r.Line.Kube.Kubeconfig()), environment...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out), err
}
