//go:build linux

package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/guide"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

const (
	// setupFolder is where reroll audit setup writes, and nodeFolder where kubeadm's API server would look for it.
	setupFolder, nodeFolder = "reroll-audit", "/etc/kubernetes/reroll"
	setUp                   = "reroll audit setup --for kubeadm"
)

// newcomer follows the quick start on the node. Its release is reroll in namespace reroll, and its workload is web in namespace shop.
type newcomer struct {
	*site
	*guide.Reader
	sections []guide.Section
	// api is what has the REST API.
	api string
	// templates is how many templates web has had before the first edit, and edits counts the edits, each of which is to roll web once.
	templates, edits int
}

// TestQuickStart runs the exact commands of the quick start, from nothing to a rolled and explained Deployment. Then audit events are added, and the right
// to list Secrets is taken away: no edit meanwhile is lost or rolls twice.
func TestQuickStart(t *testing.T) {
	n := newNewcomer(t)
	began := time.Now()
	n.section("1. Install")
	n.optIn()
	n.edits++
	n.expectTold(n.section("3. Edit, and ask why"), "shop/Deployment/web", "settings", "kubectl-patch")
	t.Logf("from nothing to rolled, and explained, in %s", time.Since(began).Round(time.Second))
	n.expectRolls("kubectl-patch")

	began = time.Now()
	n.addAuditEvents()
	t.Logf("audit events added and proven in %s", time.Since(began).Round(time.Second))
	n.edit()
	n.expectRolls("admin")

	n.Follow(t, "helm upgrade reroll helm/reroll --namespace reroll --set source=audit")
	n.edit() // while the pod is replaced: who it was goes with the old pod, which has no volume
	n.Follow(t, "kubectl -n reroll rollout status statefulset/reroll --timeout=120s")
	n.expectRolls("")
	n.edit()
	n.expectRolls("admin")
	n.expectNoSecrets()
	n.section("Remove")
}

// TestQuickStartWithAudit follows the quick start with audit events alone, from the beginning. Then each role gets pods of its own, over an external NATS:
// the history stays behind with the embedded one, and again no edit is lost or rolls twice.
func TestQuickStartWithAudit(t *testing.T) {
	n := newNewcomer(t)
	n.Follow(t, "helm install reroll helm/reroll --namespace reroll --create-namespace --set source=audit --wait")
	n.addAuditEvents()
	n.optIn()
	n.edits++
	n.expectTold(n.section("3. Edit, and ask why"), "shop/Deployment/web", "settings", "admin")
	n.expectRolls("admin")
	n.expectNoSecrets()

	url := natsserver.Start(t, func(o *server.Options) { o.Host, o.StoreDir = nodeAddress, filepath.Join(n.dir, "nats-of-roles") }).ClientURL()
	n.Follow(t, "helm upgrade reroll helm/reroll --namespace reroll --set source=audit,deploymentMode=roles,nats.url="+url)
	n.edit() // while the pods are replaced
	n.Follow(t, "kubectl -n reroll rollout status deployment --timeout=180s")
	n.api = "deployment/reroll-api"
	n.expectRolls("")
	n.edit()
	n.expectRolls("admin")
	n.section("Remove")
}

func newNewcomer(t *testing.T) *newcomer {
	t.Helper()
	s := newSite(t)
	sections, err := guide.Read("../../docs/quickstart.md")
	s.must(err)
	n := &newcomer{site: s, Reader: guide.NewReader(t, "../.."), sections: sections, api: "reroll-0"}
	n.Link(t, "kubectl", s.kube.Command(s.ctx).Path)
	n.Env = append(n.Env, "KUBECONFIG="+s.kube.Kubeconfig())
	t.Cleanup(n.restore)
	t.Cleanup(n.explain)
	return n
}

// section follows a section of the quick start.
func (n *newcomer) section(name string) string {
	n.t.Helper()
	return n.Follow(n.t, guide.Commands(n.t, n.sections, name)...)
}

// optIn follows the second section.
func (n *newcomer) optIn() {
	n.t.Helper()
	n.section("2. Opt in")
	n.templates = n.countTemplates(n.ctx)
}

// countTemplates returns how many templates web has had.
func (n *newcomer) countTemplates(ctx context.Context) int {
	n.t.Helper()
	sets, err := n.client.AppsV1().ReplicaSets("shop").List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
	n.must(err)
	return len(sets.Items)
}

func (n *newcomer) expectTold(told string, wants ...string) {
	n.t.Helper()
	for _, want := range wants {
		if !strings.Contains(told, want) {
			n.t.Errorf("%q is not in what is told:\n%s", want, told)
		}
	}
}

// edit gives the ConfigMap another content.
func (n *newcomer) edit() {
	n.t.Helper()
	n.edits++
	n.Follow(n.t, fmt.Sprintf(`kubectl -n shop patch configmap settings --patch '{"data":{"colour":"edit %d"}}'`, n.edits))
}

// expectRolls waits until web has rolled once for each edit, and the last roll is due to somebody: a user, or a field manager if no audit
// event has told the user. With an empty author the record may have gone
// with a pod that has no volume.
func (n *newcomer) expectRolls(author string) {
	n.t.Helper()
	n.await(func(ctx context.Context) error {
		rolls := n.countTemplates(ctx) - n.templates
		if rolls > n.edits {
			return line.Stop(fmt.Errorf("%d rolls after %d edits", rolls, n.edits))
		}
		if rolls < n.edits {
			return fmt.Errorf("%d rolls after %d edits", rolls, n.edits)
		}
		if author == "" {
			return nil
		}
		out, err := n.kube.Kubectl(ctx, "-n", "reroll", "exec", n.api, "--", "/reroll", "reloads", "-n", "shop", "-o", "json")
		if err != nil {
			return err
		}
		var told struct{ Items []line.Reload }
		if err := json.Unmarshal([]byte(out), &told); err != nil {
			return err
		}
		if len(told.Items) == 0 || len(told.Items[0].Causes) != 1 {
			return fmt.Errorf("the reloads are %+v", told.Items)
		}
		for _, c := range told.Items[0].Causes[0].Candidates {
			if c.User == author || c.User == "" && c.FieldManager == author {
				return nil
			}
		}
		return fmt.Errorf("the last roll is due to %+v, not to %s", told.Items[0].Causes[0].Candidates, author)
	})
	n.Follow(n.t, "kubectl -n shop rollout status deployment/web --timeout=120s")
}

// addAuditEvents sets up the audit feed as kubeadm's administrator would, but that the node's folder is the reader's, and waits until it is proven.
func (n *newcomer) addAuditEvents() {
	n.t.Helper()
	n.Follow(n.t, setUp)
	folder := filepath.Join(n.Dir, setupFolder)
	for _, file := range []string{"audit-webhook.yaml", "settings.yaml"} {
		n.Replace(n.t, setupFolder+"/"+file, nodeFolder, folder)
	}
	n.startAPIServer(append([]string{"--audit-webhook-initial-backoff=1s"}, n.APIServerFlags(n.t, setupFolder)...)...)
	n.expectTold(n.Follow(n.t, "reroll audit check"), "is proven")
}

// startAPIServer starts the API server again, with more flags.
func (n *newcomer) startAPIServer(flags ...string) {
	n.t.Helper()
	n.must(n.kube.StopAPIServer(n.ctx))
	n.must(n.kube.StartAPIServer(n.ctx, flags...))
}

// restore lets the other tests have the API server as it was.
func (n *newcomer) restore() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := errors.Join(n.kube.StopAPIServer(ctx), n.kube.StartAPIServer(ctx)); err != nil {
		n.t.Error(err)
	}
}

// explain says in a failed test what became of the release.
func (n *newcomer) explain() {
	if !n.t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, args := range [][]string{
		{"logs", "--namespace=reroll", n.api, "--tail=60"},
		{"exec", "--namespace=reroll", n.api, "--", "/reroll", "explain", "shop/Deployment/web"},
		{"exec", "--namespace=reroll", n.api, "--", "/reroll", "status"},
		{"get", "--namespace=shop", "--output=yaml", "--show-managed-fields", "configmap/settings", "deployment/web"},
	} {
		out, err := n.kube.Kubectl(ctx, args...)
		n.t.Logf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// expectNoSecrets: the release may list Secrets nowhere.
func (n *newcomer) expectNoSecrets() {
	n.t.Helper()
	for _, verb := range []string{"list", "watch"} {
		out, err := n.kube.Kubectl(n.ctx, "auth", "can-i", verb, "secrets", "--all-namespaces", "--as=system:serviceaccount:reroll:reroll")
		if err == nil || strings.TrimSpace(out) != "no" {
			n.t.Errorf("may it %s Secrets? %s, %v", verb, out, err)
		}
	}
}
