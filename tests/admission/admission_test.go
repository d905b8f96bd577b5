package admission

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const auto = "reloader.stakater.com/auto"

// TestHelmUpgrade: an upgrade that changes a ConfigMap and the Deployment which uses it makes one new ReplicaSet, and Reroll finds nothing
// left to do. An upgrade of the ConfigMap alone is Reroll's to roll, once.
func TestHelmUpgrade(t *testing.T) {
	s := newSite(t)
	chart := t.TempDir()
	s.Must(os.MkdirAll(filepath.Join(chart, "templates"), 0o755))
	for name, content := range map[string]string{
		"Chart.yaml":                "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"templates/config.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {key: \"{{ .Values.content }}\"}\n",
		"templates/deployment.yaml": manifest("", "web", "app", "{{ .Values.image }}", auto),
	} {
		s.Must(os.WriteFile(filepath.Join(chart, name), []byte(content), 0o600))
	}
	s.Helm("install", "web", chart, "--set", "content=one,image=1")
	if n := s.replicaSets("web"); n != 1 {
		t.Errorf("%d ReplicaSets after the installation", n)
	}
	s.Baselines("web", 1)

	s.Helm("upgrade", "web", chart, "--set", "content=two,image=2")
	if s.mark("web", "app") == "" {
		t.Error("the upgrade of both adds no mark")
	}
	if diff := cmp.Diff([]string{"Reloaded"}, s.outcomes("web", 1)); diff != "" {
		t.Errorf("what Reroll makes of it (-want +got):\n%s", diff)
	}
	if n := s.replicaSets("web"); n != 2 {
		t.Errorf("%d ReplicaSets after the upgrade of both, want 2", n)
	}

	s.Helm("upgrade", "web", chart, "--set", "content=three,image=2")
	if diff := cmp.Diff([]string{"Reloaded", "Reloaded"}, s.outcomes("web", 2)); diff != "" {
		t.Errorf("what Reroll makes of an upgrade of the ConfigMap (-want +got):\n%s", diff)
	}
	s.Helm("upgrade", "web", chart, "--set", "content=three,image=2", "--server-side=false", "--force-replace")
	if n := s.replicaSets("web"); n != 3 {
		t.Errorf("%d ReplicaSets after all, want 3", n)
	}
}

// TestReplace: a file without the mark replaces the Deployment, or a roll is undone, and nothing rolls.
func TestReplace(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	file := s.deploymentFile("web", "app", "1", auto)
	s.apply(s.configFile("app", "one"), file)
	s.Baselines("web", 1)
	s.apply(s.configFile("app", "two"))
	if diff := cmp.Diff([]string{"Reloaded"}, s.outcomes("web", 1)); diff != "" {
		t.Fatalf("the first change (-want +got):\n%s", diff)
	}
	before := s.Deployment("web")
	for _, how := range [][]string{
		{"replace", "-f", file},
		{"apply", "-f", file},
		{"apply", "--server-side", "--force-conflicts", "--field-manager=argocd-controller", "-f", file},
		{"rollout", "undo", "deployment/web"},
	} {
		s.Kubectl(how...)
		after := s.Deployment("web")
		if diff := cmp.Diff(before.Spec, after.Spec); diff != "" {
			t.Errorf("%v: spec (-before +after):\n%s", how, diff)
		}
		if got, want := after.Annotations["reroll.dev/applied"], before.Annotations["reroll.dev/applied"]; got != want {
			t.Errorf("%v: it said %q, and says %q", how, want, got)
		}
	}
	if n := s.replicaSets("web"); n != 2 {
		t.Errorf("%d ReplicaSets, want 2", n)
	}
}

// TestAway: while the webhook is away everybody writes workloads, and what it missed is fixed afterwards, with one roll at most.
func TestAway(t *testing.T) {
	s := newSite(t)
	file := s.deploymentFile("web", "app", "1", auto)
	s.apply(s.configFile("app", "one"), file)
	s.Baselines("web", 1)
	s.apply(s.configFile("app", "two"))
	if diff := cmp.Diff([]string{"Reloaded"}, s.outcomes("web", 1)); diff != "" {
		t.Fatalf("the first change (-want +got):\n%s", diff)
	}
	marked := s.mark("web", "app")

	shared.Reroll.Kill()
	s.Kubectl("replace", "-f", file)
	if got := s.mark("web", "app"); got != "" {
		t.Fatalf("without a webhook the mark is %q", got)
	}
	s.apply(s.configFile("app", "three"), s.deploymentFile("web", "app", "2", auto))
	before := s.replicaSets("web")
	s.Start()
	s.answering()
	s.Await("it to come", func(context.Context) error {
		outcomes := s.outcomes("web", 2)
		if last := outcomes[len(outcomes)-1]; !slices.Contains([]string{"Reloaded", "PodsNewer", "AlreadyCurrent"}, last) {
			return fmt.Errorf("Reroll makes %s of it", last)
		}
		return nil
	})
	if after := s.replicaSets("web"); after > before+1 {
		t.Errorf("%d ReplicaSets, %d before it was back", after, before)
	}
	s.Kubectl("rollout", "restart", "deployment/web")
	if got := s.mark("web", "app"); got == "" || got == marked {
		t.Errorf("the mark is %q, and was %q two contents ago", got, marked)
	}
	rolls, err := s.Client().AppsV1().ReplicaSets(s.NS).List(s.Ctx(), metav1.ListOptions{LabelSelector: "app=web"})
	s.Must(err)
	if len(rolls.Items) > before+2 {
		t.Errorf("%d ReplicaSets after a restart", len(rolls.Items))
	}
}
