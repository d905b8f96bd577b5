//go:build nightly

package roll

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// may lets a user do in a namespace what rules say.
func may(t *testing.T, user, namespace string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	rbac := cluster.Client().RbacV1()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules}
	if _, err := rbac.Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
	}
	if _, err := rbac.RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestPermissions shows that these verbs are enough, for the whole of it and for what a crash leaves.
func TestPermissions(t *testing.T) {
	const user = "reroll-by-the-verb"
	scheduled, cronJob := makeCronJob(t)
	namespace := cluster.Namespace(t)
	makeJob(t, namespace, nil)
	may(t, user, own, rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "create", "update", "delete"},
	})
	may(t, user, namespace, rbacv1.PolicyRule{
		APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"get", "create", "delete"},
	})
	may(t, user, scheduled, rbacv1.PolicyRule{
		APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"get", "create"},
	}, rbacv1.PolicyRule{APIGroups: []string{"batch"}, Resources: []string{"cronjobs"}, Verbs: []string{"get"}})

	kubeconfig, err := cluster.UserKubeconfig(user)
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, kubeconfig)
	for _, w := range []struct{ kind, namespace, name string }{
		{"CronJob", scheduled, cronJob}, {"Job", namespace, "import"},
	} {
		live := read(t, c, w.kind, w.namespace, w.name)
		for range 2 {
			if _, err := c.Roll(t.Context(), live, rollOf(t, live)); err != nil {
				t.Errorf("%s: %v", live.Ref(), err)
			}
		}
	}
	if err := c.RecoverJobs(t.Context()); err != nil {
		t.Error(err)
	}
}
