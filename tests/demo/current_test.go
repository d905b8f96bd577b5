package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/reroll-dev/reroll/tests/kube"
)

// TestMain lets the test binary be the demo.
func TestMain(m *testing.M) {
	if os.Getenv("DEMO_CLUSTER") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// demo returns the demo on the cluster of a kubeconfig.
func demo(t *testing.T, kubeconfig string, environment ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), append([]string{"DEMO_CLUSTER=current", "KUBECONFIG=" + kubeconfig, "TMPDIR=" + t.TempDir()}, environment...)...)
	return cmd
}

// audited starts a cluster that logs every request, and returns it with the path of the log.
func audited(t *testing.T) (*kube.Cluster, string) {
	t.Helper()
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata, omitStages: [RequestReceived]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster, err := kube.Start(t.Context(), kube.Options{APIServerFlags: []string{"--audit-policy-file=" + policy, "--audit-log-path=" + log}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	return cluster, log
}

// presenter gives a user the rights to create namespaces and to edit in all of them, and returns their kubeconfig.
func presenter(t *testing.T, cluster *kube.Cluster) string {
	t.Helper()
	roles := cluster.Client().RbacV1()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "namespaces"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"create", "get", "delete"}}},
	}
	if _, err := roles.ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"namespaces", "edit"} {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "presenter-" + name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "presenter"}},
		}
		if _, err := roles.ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	kubeconfig, err := cluster.UserKubeconfig("presenter")
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// namespaces returns the names of all namespaces.
func namespaces(t *testing.T, cluster *kube.Cluster) []string {
	t.Helper()
	list, err := cluster.Client().CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, n := range list.Items {
		names = append(names, n.Name)
	}
	return names
}

// TestCurrentCluster runs the demo as a user with few rights, once to its end and once until it is interrupted. The API server's log shows that all
// it did was in namespaces of its own, which are gone.
func TestCurrentCluster(t *testing.T) {
	cluster, log := audited(t)
	kubeconfig := presenter(t, cluster)
	before := namespaces(t, cluster)

	output, err := demo(t, kubeconfig, "DEMO_EXIT=1").CombinedOutput()
	if err != nil {
		t.Fatalf("%v; it says:\n%s", err, output)
	}
	for _, want := range []string{
		"== Context rig: Kubernetes v", "last updated by field manager carol@example.com", "4 edits of content, 4 rolls; 1 label, no roll.", "carol@example.com (update, OnlyWriter)", "reroll explain", "It is gone.",
	} {
		if !strings.Contains(string(output), want) {
			t.Errorf("it does not say %q:\n%s", want, output)
		}
	}
	interrupted(t, demo(t, kubeconfig, "DEMO_EXIT="))

	if after := namespaces(t, cluster); !slices.Equal(after, before) {
		t.Errorf("namespaces are %v, and were %v before", after, before)
	}
	inside, outside := requests(t, log)
	// It looks for other reloaders, which would roll the same workloads; it may not, and goes on.
	want := []string{"create namespaces", "delete namespaces", "get namespaces", "get nonresource", "list configmaps", "list deployments"}
	if !slices.Equal(outside, want) {
		t.Errorf("outside of its namespaces it asked for %q, want %q", outside, want)
	}
	if len(inside) != 2 {
		t.Errorf("it worked in %v, want one namespace for each run", inside)
	}
}

// interrupted runs the demo until it invites the user to try more, and interrupts it then.
func interrupted(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Fprintln(&said, lines.Text())
		if strings.Contains(lines.Text(), "Try it yourself") {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(said.String(), "It is gone.") {
		t.Errorf("when it is interrupted it ends with %v, and says:\n%s", err, &said)
	}
}

// requests returns the namespaces that the presenter's requests were about, and what others they made, without their names.
func requests(t *testing.T, log string) (inside, outside []string) {
	t.Helper()
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	decoder := json.NewDecoder(f)
	for decoder.More() {
		var e auditv1.Event
		if err := decoder.Decode(&e); err != nil {
			t.Fatal(err)
		}
		if e.User.Username != "presenter" {
			continue
		}
		switch {
		case e.ObjectRef == nil:
			outside = append(outside, e.Verb+" nonresource")
		case e.ObjectRef.Resource == "namespaces":
			if e.Verb != "get" && e.Verb != "create" && !strings.HasPrefix(e.ObjectRef.Name, "reroll-demo-") {
				t.Errorf("%s %s", e.Verb, e.RequestURI)
			}
			outside = append(outside, e.Verb+" namespaces")
		case strings.HasPrefix(e.ObjectRef.Namespace, "reroll-demo-"):
			inside = append(inside, e.ObjectRef.Namespace)
		default:
			outside = append(outside, e.Verb+" "+e.ObjectRef.Resource)
		}
	}
	slices.Sort(inside)
	slices.Sort(outside)
	return slices.Compact(inside), slices.Compact(outside)
}

// TestNoCluster: without a kubeconfig, a context, or an API server the demo says so, and in the last case which it tried.
func TestNoCluster(t *testing.T) {
	kubeconfig := func(content string) string {
		file := filepath.Join(t.TempDir(), "kubeconfig")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	nobody := url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	tests := map[string]struct{ kubeconfig, says string }{
		"no file":    {filepath.Join(t.TempDir(), "none"), "there is no kubeconfig with a current context"},
		"no context": {kubeconfig("apiVersion: v1\nkind: Config\n"), "there is no kubeconfig with a current context"},
		"a context that is not there": {
			kubeconfig("apiVersion: v1\nkind: Config\ncurrent-context: gone\n"), "context gone of the kubeconfig",
		},
		"no API server": {
			kubeconfig("apiVersion: v1\nkind: Config\ncurrent-context: blue\nclusters: [{name: c, cluster: {server: '" + nobody.String() +
				"'}}]\ncontexts: [{name: blue, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\n"),
			"the API server of the context blue at " + nobody.String() + " does not answer",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			output, err := demo(t, tc.kubeconfig, "HOME="+t.TempDir()).CombinedOutput()
			if err == nil || !strings.Contains(string(output), tc.says) {
				t.Errorf("it ends with %v, and says %q, want %q", err, output, tc.says)
			}
		})
	}
}

// TestOtherCluster: a cluster that the demo does not know is refused.
func TestOtherCluster(t *testing.T) {
	if err := run(t.Context(), "prod"); err == nil || !strings.Contains(err.Error(), "set it to current") {
		t.Errorf("it gives %v", err)
	}
}
