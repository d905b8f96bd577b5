//go:build nightly

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/line"
)

// TestDryRun decides and records, writes nothing, needs no right to write, and says that another reloader runs next to it.
func TestDryRun(t *testing.T) {
	l := ownLine(t, line.Options{Flags: []string{"--set", "debounce.window=0s", "--dry-run"}})
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	defer cancel()
	r := &room{t: t, ctx: ctx, line: l, client: l.Kube.Client(), ns: l.Kube.Namespace(t)}
	log := r.restartAsReader()

	r.create(configMap("app", map[string]string{"k": "a"}))
	r.create(deployment("web", usesEnvFrom("app")))
	r.waitBaseline("web", 1)
	r.setData("app", "k", "b")
	r.must(line.Poll(ctx, func(ctx context.Context) error {
		reloads, err := l.Reroll.Reloads(ctx, r.ns)
		if err != nil {
			return err
		}
		if len(reloads) != 1 || reloads[0].Outcome != "DryRun" {
			return fmt.Errorf("reloads: %+v", reloads)
		}
		return nil
	}))
	r.must(l.Reroll.Terminate(ctx)) // Events are written last
	r.wroteNothing()
	if said := log(); strings.Contains(strings.ToLower(said), "forbidden") {
		t.Errorf("a dry run asked for more than it may read:\n%s", said)
	} else if !strings.Contains(said, "another reloader seems to run in this cluster") || !strings.Contains(said, r.ns+"/reloader") {
		t.Errorf("the reloader beside it is not named:\n%s", said)
	}
}

// restartAsReader starts reroll again, next to what looks like another reloader, as a user who may read everything and write nothing. It returns a
// function that returns what has been logged since.
func (r *room) restartAsReader() func() string {
	r.t.Helper()
	const reader = "reader"
	other := deployment("reloader")
	other.Annotations, other.Labels = nil, map[string]string{"app.kubernetes.io/name": "reloader"}
	r.create(other)
	_, err := r.client.RbacV1().ClusterRoles().Create(r.ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: reader},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}}},
	}, metav1.CreateOptions{})
	r.must(err)
	_, err = r.client.RbacV1().ClusterRoleBindings().Create(r.ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: reader},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: reader},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: reader}},
	}, metav1.CreateOptions{})
	r.must(err)
	kubeconfig, err := r.line.Kube.UserKubeconfig(reader)
	r.must(err)
	r.must(r.line.Reroll.Terminate(r.ctx))
	before := len(r.line.Reroll.Log())
	r.must(r.line.Reroll.Start("--kubeconfig", kubeconfig))
	r.must(r.line.Reroll.WaitReady(r.ctx))
	return func() string { return r.line.Reroll.Log()[before:] }
}

// wroteNothing fails the test if a dry run left something in the cluster.
func (r *room) wroteNothing() {
	r.t.Helper()
	if got := r.rolls("web"); got != 0 {
		r.t.Errorf("a dry run rolled %d times", got)
	}
	if _, err := r.client.CoreV1().Secrets("default").Get(r.ctx, "reroll-digest-key", metav1.GetOptions{}); err == nil {
		r.t.Error("a dry run wrote the digest key")
	}
	events, err := r.client.CoreV1().Events(r.ns).List(r.ctx, metav1.ListOptions{})
	r.must(err)
	if len(events.Items) != 0 {
		r.t.Errorf("a dry run wrote %d events", len(events.Items))
	}
}
