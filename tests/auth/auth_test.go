package auth

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// account makes a ServiceAccount and returns its token, which is for audiences; for the API server if there are none.
func account(ctx context.Context, t *testing.T, ns, name string, audiences ...string) string {
	t.Helper()
	accounts := shared.Kube.Client().CoreV1().ServiceAccounts(ns)
	if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}
	answer, err := accounts.CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Token
}

// grant lets a subject use verbs on all resources of Reroll in a namespace, or in all if it is empty.
func grant(ctx context.Context, t *testing.T, ns string, subject rbacv1.Subject, verbs ...string) {
	t.Helper()
	rules := []rbacv1.PolicyRule{{APIGroups: []string{"reroll.dev"}, Resources: []string{"*"}, Verbs: verbs}}
	meta := metav1.ObjectMeta{GenerateName: "reroll-"}
	client := shared.Kube.Client().RbacV1()
	if ns == "" {
		role, err := client.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}
		if _, err := client.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: []rbacv1.Subject{subject}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		return
	}
	role, err := client.Roles(ns).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}
	if _, err := client.RoleBindings(ns).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: []rbacv1.Subject{subject}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func serviceAccount(ns, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: name}
}

// matrix is how often somebody is let in, by what they ask for.
type matrix map[string]int

// judge asks for every path of a matrix. A denial must be the first answer and the last: it is asked for before what is granted, and once more
// after that. What is granted may take a moment: the API server learns of a new right late, and Reroll remembers a denial for ten seconds.
func judge(t *testing.T, c caller, want matrix) {
	t.Helper()
	for path, code := range want {
		if !isDenial(code) {
			continue
		}
		if got, answer := c.ask(t, http.MethodGet, path, nil); !isDenial(got) {
			t.Errorf("GET %s: the first answer is %d, want a denial: %s", path, got, answer)
		}
	}
	for path, code := range want {
		if isDenial(code) {
			continue
		}
		eventually(t, func() error {
			if got, answer := c.ask(t, http.MethodGet, path, nil); got != code {
				return fmt.Errorf("GET %s: %d, want %d: %s", path, got, code, answer)
			}
			return nil
		})
	}
	denied(t, c, want)
}

func isDenial(code int) bool { return code == http.StatusUnauthorized || code == http.StatusForbidden }

// denied asks once for each path of a matrix that must be denied, and wants the very code.
func denied(t *testing.T, c caller, want matrix) {
	t.Helper()
	for path, code := range want {
		if !isDenial(code) {
			continue
		}
		if got, answer := c.ask(t, http.MethodGet, path, nil); got != code {
			t.Errorf("GET %s: %d, want %d: %s", path, got, code, answer)
		}
	}
}

func TestTokens(t *testing.T) {
	ctx := t.Context()
	ns, other := shared.Kube.Namespace(t), shared.Kube.Namespace(t)
	reader, all, none := account(ctx, t, ns, "reader"), account(ctx, t, ns, "all"), account(ctx, t, ns, "none")
	grant(ctx, t, ns, serviceAccount(ns, "reader"), "get", "list", "watch")
	grant(ctx, t, "", serviceAccount(ns, "all"), "get", "list", "watch")

	in, out := "/api/v1/changes?namespace="+ns, "/api/v1/changes?namespace="+other
	const everywhere, clusters, self = "/api/v1/changes", "/api/v1/clusters", "/api/v1/self"
	cases := map[string]struct {
		caller caller
		want   matrix
	}{
		"rights in one namespace": {caller{token: reader}, matrix{in: 200, out: 403, everywhere: 403, clusters: 403, self: 200, "/api/v1/changes/c-none": 403}},
		"rights everywhere":       {caller{token: all}, matrix{in: 200, out: 200, everywhere: 200, clusters: 200, "/api/v1/changes/c-none": 404}},
		"no rights":               {caller{token: none}, matrix{in: 403, everywhere: 403, clusters: 403, self: 200}},
		"no token":                {caller{}, matrix{in: 401, everywhere: 401, self: 401, "/openapi.json": 200}},
		"a token that is none":    {caller{token: "garbage"}, matrix{everywhere: 401}},
		"a token of somebody else's making": {
			caller{token: reader[:strings.LastIndex(reader, ".")] + ".AAAA"}, matrix{everywhere: 401, in: 401},
		},
		"a token for somebody else": {caller{token: account(ctx, t, ns, "elsewhere", "another-service")}, matrix{everywhere: 401, self: 401}},
		"a token too long":          {caller{token: strings.Repeat("x", 20_000)}, matrix{self: 401}},
		"the headers of a proxy without its certificate": {
			caller{headers: map[string]string{"X-Remote-User": "system:admin", "X-Remote-Group": "system:masters"}}, matrix{self: 401},
		},
		"the headers of a proxy beside a token": {
			caller{token: none, headers: map[string]string{"X-Remote-User": "system:admin", "X-Remote-Group": "system:masters"}}, matrix{everywhere: 403},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { judge(t, tc.caller, tc.want) })
	}
	held(t, "GET changes 200", "GET changes 401", "GET changes 403", "GET changes 404", "GET self 200", "GET self 401")
}
