package install_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// The folder that kubeadm's API server would see, and the address of the Service. Nothing here runs pods or routes Services: the files are
// those of the reader, and the address is that of the process that stands for the pod.
const (
	nodeFolder     = "/etc/kubernetes/reroll"
	serviceAddress = "10.96.0.50:9443"
)

// TestQuickStart follows the quick start from its beginning to its end.
func TestQuickStart(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), suiteTime)
	defer cancel()
	r, sections := newReader(t), read(t, "quickstart.md")
	r.follow(t, commands(t, sections, "1. Certificates"))
	r.follow(t, commands(t, sections, "2. The API server"))
	p := newPod(t)
	cluster := r.startCluster(ctx, t, p)
	r.follow(t, commands(t, sections, "3. Reroll"))
	p.start(ctx, t, cluster)
	r.env = append(r.env, "REROLL_SERVER="+p.api)

	r.follow(t, commands(t, sections, "4. A workload"))
	p.expectBaseline(ctx, t)
	r.follow(t, commands(t, sections, "5. A change"))
	p.expectReload(ctx, t)
	told := r.follow(t, commands(t, sections, "6. Who, what, why"))
	for _, want := range []string{"shop/Deployment/web", "settings", "admin"} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not in what is told:\n%s", want, told)
		}
	}
	before, err := cluster.Client().CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.follow(t, commands(t, sections, "And then"))
	after, err := cluster.Client().CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil || len(after.Items) != len(before.Items)-2 {
		t.Errorf("something is left: %d namespaces of %d, %v", len(after.Items), len(before.Items), err)
	}
	if lost, err := cluster.AuditErrors(ctx); err != nil || lost > 0 {
		t.Logf("the API server could not report %d events while Reroll was not there: %v", lost, err)
	}
}

// TestEverySectionIsFollowed: no command of the quick start is outside the sections that TestQuickStart follows.
func TestEverySectionIsFollowed(t *testing.T) {
	var names []string
	for _, s := range read(t, "quickstart.md") {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, "|"); got != "1. Certificates|2. The API server|3. Reroll|4. A workload|5. A change|6. Who, what, why|And then" {
		t.Errorf("commands are under %s", got)
	}
}

// startCluster starts a cluster whose API server has the flags of the settings and the files that the reader has made.
func (r *reader) startCluster(ctx context.Context, t *testing.T, p *pod) *kube.Cluster {
	t.Helper()
	r.replace(t, "audit-webhook.yaml", nodeFolder, r.dir)
	r.replace(t, "audit-webhook.yaml", serviceAddress, p.ingest)
	r.replace(t, "settings.yaml", nodeFolder, r.dir)
	var settings struct {
		APIServer struct {
			ExtraArgs []struct{ Name, Value string }
		}
	}
	content, err := os.ReadFile(filepath.Join(r.dir, "settings.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(content, &settings); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--service-cluster-ip-range=10.96.0.0/16", "--audit-webhook-initial-backoff=1s"}
	for _, arg := range settings.APIServer.ExtraArgs {
		flags = append(flags, "--"+arg.Name+"="+arg.Value)
	}
	if len(flags) != 7 {
		t.Fatalf("the settings have the flags %q", flags)
	}
	cluster, err := kube.Start(ctx, kube.Options{APIServerFlags: flags})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	kubectl := cluster.Command(ctx)
	r.link(t, "kubectl", kubectl.Path)
	r.env = append(r.env, "KUBECONFIG="+cluster.Kubeconfig())
	return cluster
}

// replace replaces a text in a file, which must have it.
func (r *reader) replace(t *testing.T, name, text, by string) {
	t.Helper()
	file := filepath.Join(r.dir, name)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), text) {
		t.Fatalf("%s has no %s:\n%s", name, text, content)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(content), text, by)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// expectBaseline waits until Reroll has seen the config that the Deployment uses: what changes before is no change.
func (p *pod) expectBaseline(ctx context.Context, t *testing.T) {
	t.Helper()
	p.await(ctx, t, "/api/v1/workloads/local/shop/Deployment/web", func(answer map[string]any) error {
		dependencies, _ := answer["dependencies"].([]any)
		for _, d := range dependencies {
			if handled, _ := d.(map[string]any); handled["handled"] != nil {
				return nil
			}
		}
		return fmt.Errorf("no baseline in %v", answer)
	})
}

// expectReload waits until the reload is told, with its cause and who it was.
func (p *pod) expectReload(ctx context.Context, t *testing.T) {
	t.Helper()
	p.await(ctx, t, "/api/v1/reloads?namespace=shop", func(answer map[string]any) error {
		items, _ := answer["items"].([]any)
		if len(items) == 0 || !strings.Contains(fmt.Sprint(items[0]), "admin") {
			return fmt.Errorf("no reload by admin in %v", answer)
		}
		return nil
	})
}

// await asks the REST API until an answer passes.
func (p *pod) await(ctx context.Context, t *testing.T, path string, passes func(map[string]any) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err := line.Poll(ctx, func(ctx context.Context) error {
		answer, err := get(ctx, p.api+path)
		if err != nil {
			return err
		}
		return passes(answer)
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, p.log.String())
	}
}
