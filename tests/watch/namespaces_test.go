package watch

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/workload"
	"github.com/reroll-dev/reroll/tests/line"
)

// permit lets a user watch workloads in one namespace, and nothing else.
func permit(t *testing.T, namespace, user string) {
	t.Helper()
	kubectl(t, "create", "role", user, "--namespace="+namespace, "--verb=get,list,watch",
		"--resource=deployments.apps,statefulsets.apps,daemonsets.apps,jobs.batch,cronjobs.batch,rollouts.argoproj.io")
	kubectl(t, "create", "rolebinding", user, "--namespace="+namespace, "--role="+user, "--user="+user)
}

func TestNamedNamespacesNeedNoOtherPermission(t *testing.T) {
	install(t, rollouts)
	one, two, other := shared.Namespace(t), shared.Namespace(t), shared.Namespace(t)
	permit(t, one, "watcher")
	permit(t, two, "watcher")
	kubeconfig, err := shared.UserKubeconfig("watcher")
	line.Must(t, err)
	inOne, _ := createDeployment(t, one, "app", "c"), createDeployment(t, other, "app", "c")
	f := follow(t, kubeconfig, kube.Scope{
		Namespaces: []string{one, two, one}, Rollouts: true,
		IgnoredNamespaces: []string{one}, NamespaceSelector: labels.SelectorFromSet(labels.Set{"no": "namespace"}),
	})
	all := []string{one, two, other}
	f.await(t, all, inOne)
	inTwo := createDeployment(t, two, "app", "c")
	create(t, workload.Rollout, two, "app", map[string]any{"template": looseTemplate("c")})
	create(t, workload.Rollout, other, "app", map[string]any{"template": looseTemplate("c")})
	f.await(t, all, inOne, inTwo, ref("Rollout", two, "app"))
}

func TestNamespaceSelectorFollowsLabels(t *testing.T) {
	install(t, rollouts)
	chosen, later, ignored := shared.Namespace(t), shared.Namespace(t), shared.Namespace(t)
	kubectl(t, "label", "ns", chosen, "team=a")
	kubectl(t, "label", "ns", ignored, "team=a")
	selector, err := labels.Parse("team in (a,b)")
	line.Must(t, err)
	var refs []reloader.WorkloadRef
	for _, ns := range []string{chosen, later, ignored} {
		refs = append(refs, createDeployment(t, ns, "app", "c"))
	}
	f := follow(t, shared.Kubeconfig(), kube.Scope{NamespaceSelector: selector, IgnoredNamespaces: []string{ignored}, Rollouts: true})
	all := []string{chosen, later, ignored}
	if got := f.in(all...); len(got) != 1 || got[0] != refs[0].String() {
		t.Errorf("tracked when Watch returned: %q, want %s", got, refs[0])
	}

	kubectl(t, "label", "ns", later, "team=b")
	f.await(t, all, refs[0], refs[1])
	kubectl(t, "label", "ns", chosen, "--overwrite", "team=b")
	create(t, workload.Rollout, later, "web", via("app"))
	f.awaitThat(t, ref("Rollout", later, "web"), "with its Deployment", uses("c"))

	kubectl(t, "label", "ns", later, "--overwrite", "team=c")
	f.await(t, all, refs[0])
	createDeployment(t, later, "unseen", "c")
	second := createDeployment(t, chosen, "second", "c")
	f.await(t, all, refs[0], second)

	kubectl(t, "label", "ns", later, "--overwrite", "team=a")
	f.await(t, all, refs[0], second, refs[1], ref("Deployment", later, "unseen"), ref("Rollout", later, "web"))
	f.awaitThat(t, ref("Rollout", later, "web"), "with its Deployment", uses("c"))
}
