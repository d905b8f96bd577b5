package install_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/guide"
	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/port"
)

const root = "../.."

// TestQuickStart follows the quick start from its beginning to its end, and prints how long that takes. No command of it is outside the sections
// that are followed.
func TestQuickStart(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	must := func(err error) {
		t.Helper()
		line.Must(t, err)
	}
	sections, err := guide.Read(root + "/docs/quickstart.md")
	must(err)
	var names []string
	for _, s := range sections {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, "|"); got != "1. Install|2. Opt in|3. Edit, and ask why|Remove" {
		t.Errorf("commands are under %s", got)
	}
	r := guide.NewReader(t, root)
	cluster, err := kube.Start(ctx, kube.Options{})
	must(err)
	t.Cleanup(cluster.Stop)
	r.Env = append(r.Env, "KUBECONFIG="+cluster.Kubeconfig())
	// No kubelet runs here: what is run in Reroll's pod is run as a process of this machine.
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in\n'-n reroll exec reroll-0 -- /reroll '*) shift 6; exec reroll \"$@\" ;;\nesac\nexec %q \"$@\"\n", cluster.Command(ctx).Path)
	must(os.WriteFile(filepath.Join(r.Dir, "bin", "kubectl"), []byte(script), 0o700))
	before, err := cluster.Client().CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	must(err)
	began := time.Now()
	if notes := r.Follow(t, guide.Commands(t, sections, "1. Install")...); !strings.Contains(notes, "There is no volume: when the pod moves, the history is lost") {
		t.Errorf("what the pod loses is not in the notes of the chart:\n%s", notes)
	}
	pod, kubeconfig, err := line.LivePod(ctx, cluster, "reroll", "reroll", t.TempDir())
	must(err)
	arguments, err := pod.Arguments()
	must(err)
	addresses, err := port.Addresses(1)
	must(err)
	p, err := line.NewProcess(ctx, pod.Environment(), append(arguments, "--kubeconfig="+kubeconfig, "--ingest-address="+addresses[0])...)
	must(err)
	must(p.Start())
	t.Cleanup(p.Kill)
	must(p.WaitReady(ctx))
	r.Env = append(r.Env, "REROLL_SERVER="+p.API)
	r.Follow(t, guide.Commands(t, sections, "2. Opt in")...)
	optedIn := time.Now()
	must(line.Poll(ctx, func(context.Context) error { // field managers are distinguished by the second, and nobody types that fast
		if time.Since(optedIn) < 2*time.Second {
			return errors.New("it is the second of the creation")
		}
		return nil
	}))
	edit := guide.Commands(t, sections, "3. Edit, and ask why")
	if told := r.Follow(t, edit...); !strings.Contains(told, "kubectl-patch") {
		t.Errorf("who made the change is not in what is told:\n%s", told)
	}
	explain := slices.IndexFunc(edit, func(command string) bool { return strings.Contains(command, "/reroll explain ") })
	line.Eventually(t, "the end of the rollout in explain", func(context.Context) error { // Reroll hears of it a moment after kubectl
		const want = "UpToDate: The workload runs with the newest content. It last rolled for ConfigMap shop/settings"
		if told := r.Follow(t, edit[explain]); !strings.Contains(told, want) {
			return fmt.Errorf("it says: %s", told)
		}
		return nil
	})
	if status := r.Follow(t, "reroll status"); !strings.Contains(status, "healthy · 1 workload") {
		t.Errorf("the status is:\n%s", status)
	}
	t.Logf("from nothing to rolled, and explained, in %s", time.Since(began).Round(time.Second))
	r.Follow(t, guide.Commands(t, sections, "Remove")...)
	after, err := cluster.Client().CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil || len(after.Items) != len(before.Items) {
		t.Errorf("something is left: %d namespaces of %d, %v", len(after.Items), len(before.Items), err)
	}
}
