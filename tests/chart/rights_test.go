//go:build nightly

package chart_test

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	rig "github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

var builtIn = []string{"Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job"}

// accountUser precedes the name of an account of the release in that of its user.
const accountUser = "system:serviceaccount:" + namespace + ":"

// account is the one that the pods of a role have; an empty role is serve.
func account(t *testing.T, objects []runtime.Object, role string) string {
	t.Helper()
	all := workloads(t, objects)
	i := slices.IndexFunc(all, func(w runner) bool { return w.role() == cmp.Or(role, "serve") })
	if i < 0 {
		t.Fatalf("nobody runs as %s", role)
	}
	return all[i].pod.Spec.ServiceAccountName
}

// startRig returns an API server with the namespaces of the tests.
func startRig(t *testing.T) *rig.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	cluster, err := rig.Start(ctx, rig.Options{ControlPlaneOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	for _, name := range []string{namespace, "shop", "billing"} {
		kubectl(t, cluster, "create", "namespace", name)
	}
	for _, name := range []string{"shop", "billing"} {
		kubectl(t, cluster, "create", "--namespace="+name, "--filename=testdata/objects.yaml")
	}
	return cluster
}

func kubectl(t *testing.T, cluster *rig.Cluster, args ...string) {
	t.Helper()
	if _, err := cluster.Kubectl(t.Context(), args...); err != nil {
		t.Fatal(err)
	}
}

// serveEverything adds the kinds of Argo, OpenShift and the Secrets Store CSI driver, with an object of each.
func serveEverything(t *testing.T, cluster *rig.Cluster) {
	t.Helper()
	kubectl(t, cluster, "create", "--filename=../testdata/crds")
	kubectl(t, cluster, "wait", "--for=condition=Established", "crd", "--all")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// What is established may need a moment more until it is served.
	err := line.Poll(ctx, func(ctx context.Context) error {
		_, err := cluster.Kubectl(ctx, "apply", "--namespace=shop", "--filename=testdata/optional-objects.yaml")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// bind installs the chart's roles and takes them away at the end.
func bind(t *testing.T, cluster *rig.Cluster, values string, templates ...string) {
	t.Helper()
	bindMore(t, cluster, values, nil, templates...)
}

// bindMore is bind with arguments of helm besides the values.
func bindMore(t *testing.T, cluster *rig.Cluster, values string, more []string, templates ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rbac.yaml")
	args := append([]string{"--values", filepath.Join("testdata", values, "values.yaml")}, more...)
	for _, template := range append([]string{"rbac.yaml"}, templates...) {
		args = append(args, "--show-only", "templates/"+template)
	}
	text := render(t, args...)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, cluster, "create", "--filename="+file)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := cluster.Kubectl(ctx, "delete", "--filename="+file); err != nil {
			t.Error(err)
		}
	})
}

// TestScopedAccountMayNotMore asks the API server about what nobody granted.
func TestScopedAccountMayNotMore(t *testing.T) {
	cluster := startRig(t)
	bind(t, cluster, "namespaced")
	user := accountUser + account(t, rendered(t, "namespaced"), "")
	may := func(a authorizationv1.ResourceAttributes) bool {
		t.Helper()
		return allowed(t, cluster, user, a)
	}
	if !may(authorizationv1.ResourceAttributes{Verb: "get", Resource: "configmaps", Namespace: "shop"}) {
		t.Error("what was granted is refused")
	}
	for what, a := range map[string]authorizationv1.ResourceAttributes{
		"workloads of all namespaces": {Verb: "list", Group: "apps", Resource: "deployments"},
		"workloads elsewhere":         {Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "default"},
		"configs elsewhere":           {Verb: "get", Resource: "configmaps", Namespace: "default"},
		"Secrets, which are ignored":  {Verb: "get", Resource: "secrets", Namespace: "shop"},
		"Secrets of its own":          {Verb: "get", Resource: "secrets", Namespace: namespace, Name: "another"},
		"Jobs, which are ignored":     {Verb: "delete", Group: "batch", Resource: "jobs", Namespace: "shop"},
		"other namespaces":            {Verb: "get", Resource: "namespaces", Namespace: "default", Name: "default"},
		"a Lease without HA":          {Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Namespace: namespace},
		"writing configs":             {Verb: "update", Resource: "configmaps", Namespace: "shop"},
		"pods":                        {Verb: "delete", Resource: "pods", Namespace: "shop"},
		"roles":                       {Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "rolebindings", Namespace: "shop"},
	} {
		if may(a) {
			t.Errorf("it may do more than is granted: %s", what)
		}
	}
}

// allowed asks the API server whether a user may do something.
func allowed(t *testing.T, cluster *rig.Cluster, user string, a authorizationv1.ResourceAttributes) bool {
	t.Helper()
	review, err := cluster.Client().AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &a},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

// TestSourceSaysWhoMayListSecrets: who takes audit events alone may neither list nor watch the Secrets of anybody, and may still read one.
func TestSourceSaysWhoMayListSecrets(t *testing.T) {
	cluster := startRig(t)
	for _, source := range []string{"auto", "audit", "watch"} {
		t.Run(source, func(t *testing.T) {
			set := []string{"--set", "source=" + source}
			bindMore(t, cluster, "default", set)
			user := accountUser + account(t, rendered(t, "default", set...), "")
			for verb, want := range map[string]bool{"get": true, "list": source != "audit", "watch": source != "audit"} {
				for _, ns := range []string{"", "shop", "kube-system"} {
					if got := allowed(t, cluster, user, authorizationv1.ResourceAttributes{Verb: verb, Resource: "secrets", Namespace: ns}); got != want {
						t.Errorf("%s of Secrets in %q is allowed: %t, want %t", verb, ns, got, want)
					}
				}
			}
		})
	}
}
