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
)

// nodeFolder is the folder that kubeadm's API server would see.
const nodeFolder = "/etc/kubernetes/reroll"

// TestQuickStart follows the quick start from its beginning to its end, and prints how long that takes.
func TestQuickStart(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), suiteTime)
	defer cancel()
	r, sections := newReader(t), read(t, "quickstart.md")
	cluster, err := kube.Start(ctx, kube.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	r.Env = append(r.Env, "KUBECONFIG="+cluster.Kubeconfig())
	r.kubectl(t, cluster.Command(ctx).Path)
	before, err := cluster.Client().CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if notes := r.Follow(t, guide.Commands(t, sections, "1. Install")...); !strings.Contains(notes, "There is no volume: when the pod moves, the history is lost") {
		t.Errorf("what the pod loses is not in the notes of the chart:\n%s", notes)
	}
	p, _ := startPod(ctx, t, cluster)
	r.Env = append(r.Env, "REROLL_SERVER="+p.API)
	r.Follow(t, guide.Commands(t, sections, "2. Opt in")...)
	optedIn := time.Now()
	err = line.Poll(ctx, func(context.Context) error { // field managers are distinguished by the second, and nobody types that fast
		if time.Since(optedIn) < 2*time.Second {
			return errors.New("it is the second of the creation")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
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

// TestEverySectionIsFollowed: no command of the quick start is outside the sections that TestQuickStart follows.
func TestEverySectionIsFollowed(t *testing.T) {
	var names []string
	for _, s := range read(t, "quickstart.md") {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, "|"); got != "1. Install|2. Opt in|3. Edit, and ask why|Remove" {
		t.Errorf("commands are under %s", got)
	}
}

// kubectl gives the reader a kubectl that runs what is run in Reroll's pod as a process of this machine: no kubelet runs here.
func (r *reader) kubectl(t *testing.T, path string) {
	t.Helper()
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in\n'-n reroll exec reroll-0 -- /reroll '*) shift 6; exec reroll \"$@\" ;;\nesac\nexec %q \"$@\"\n", path)
	if err := os.WriteFile(filepath.Join(r.Dir, "bin", "kubectl"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
}
