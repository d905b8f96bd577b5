package nats

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

const lineTime = 3 * time.Minute

// reroll runs the binary to its end.
func reroll(t *testing.T, args ...string) (string, error) {
	t.Helper()
	binary, err := line.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
	return string(out), err
}

// TestLineOfRoles runs every role as a process of its own, on a server as documented.
func TestLineOfRoles(t *testing.T) {
	s := documented(t, "server.conf")
	ctx, cancel := context.WithTimeout(t.Context(), lineTime)
	defer cancel()
	flags := map[string][]string{}
	for _, role := range []string{"ingest", "dispatch", "api"} {
		flags[role] = loginFlags(t, line.ClusterName)
	}
	l, err := line.StartRoles(ctx, line.Options{
		Kube:  kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{InitialBackoff: time.Second}},
		Flags: []string{"--coalesce-window", "200ms"}, RoleFlags: flags,
	}, s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)

	ns := l.Kube.Namespace(t)
	createApp(ctx, t, l, ns)
	for n := 1; n <= 3; n++ {
		edit(ctx, t, l, ns, n)
		waitReloads(ctx, t, l, ns, n)
		if n == 1 {
			t.Log("a process that starts again reads its state")
			if err := l.Dispatch.Terminate(ctx); err != nil {
				t.Fatal(err)
			}
			if err := l.Dispatch.Start(); err != nil {
				t.Fatal(err)
			}
			if err := l.Dispatch.WaitReady(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, role := range map[string]*line.Reroll{"ingest": l.Ingest, "dispatch": l.Dispatch, "api": l.Reroll} {
		if log := role.Log(); strings.Contains(log, "level=ERROR") {
			t.Errorf("%s reports an error:\n%s", name, log)
		}
	}
}

// createApp creates a Deployment that uses a ConfigMap, and waits until Reroll knows both.
func createApp(ctx context.Context, t *testing.T, l *line.Line, ns string) {
	t.Helper()
	makeApp(ctx, t, l, ns)
	wait(ctx, t, l, func(ctx context.Context) error {
		n, err := l.Reroll.Baselines(ctx, ns, "web")
		if err == nil && n != 1 {
			err = fmt.Errorf("%d baselines", n)
		}
		return err
	})
}

// makeApp creates a Deployment that uses a ConfigMap.
func makeApp(ctx context.Context, t *testing.T, l *line.Line, ns string) {
	t.Helper()
	_, err := l.Kube.Client().CoreV1().ConfigMaps(ns).Create(ctx, configMap("0"), metav1.CreateOptions{})
	if err == nil {
		_, err = l.Kube.Client().AppsV1().Deployments(ns).Create(ctx, line.Deployment(ns, "web", map[string]string{"reloader.stakater.com/auto": "true"}, line.FromConfigMap("app")), metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func configMap(value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "app"}, Data: map[string]string{"k": value}}
}

func edit(ctx context.Context, t *testing.T, l *line.Line, ns string, n int) {
	t.Helper()
	if _, err := l.Kube.Client().CoreV1().ConfigMaps(ns).Update(ctx, configMap(fmt.Sprint(n)), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// waitReloads waits until the Deployment has rolled n times and the API knows of as many reloads.
func waitReloads(ctx context.Context, t *testing.T, l *line.Line, ns string, n int) {
	t.Helper()
	wait(ctx, t, l, func(ctx context.Context) error {
		d, err := l.Kube.Client().AppsV1().Deployments(ns).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		reloads, err := l.Reroll.Reloads(ctx, ns)
		if err != nil {
			return err
		}
		if d.Generation != int64(n+1) || len(reloads) != n {
			return fmt.Errorf("generation %d and %d reloads, not %d edits", d.Generation, len(reloads), n)
		}
		return nil
	})
}

func wait(ctx context.Context, t *testing.T, l *line.Line, check func(context.Context) error) {
	t.Helper()
	if err := line.Poll(ctx, check); err != nil {
		t.Fatalf("%v%s", err, logs(l))
	}
}

// logs returns what each process of a line has logged.
func logs(l *line.Line) string {
	var b strings.Builder
	for name, role := range map[string]*line.Reroll{"ingest": l.Ingest, "dispatch": l.Dispatch, "api": l.Reroll} {
		if role != nil {
			fmt.Fprintf(&b, "\n%s:\n%s", name, role.Log())
		}
	}
	return b.String()
}
