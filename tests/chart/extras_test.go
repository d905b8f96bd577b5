package chart_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// custom returns the objects of a kind that Kubernetes itself does not have.
func custom(objects []runtime.Object, kind string) (found []*unstructured.Unstructured) {
	for _, object := range objects {
		if o, ok := object.(*unstructured.Unstructured); ok && o.GetKind() == kind {
			found = append(found, o)
		}
	}
	return found
}

// TestAlertsAreThoseOfTheShape: an alert about what does not run here would fire for ever, or never.
func TestAlertsAreThoseOfTheShape(t *testing.T) {
	one := []string{"reroll-ingest", "reroll-dispatch", "reroll-queue", "reroll-certificates", "reroll-api"}
	for values, want := range map[string][]string{
		"roles":        append(slices.Clone(one), "reroll-slo", "reroll-apiserver"),
		"fleet-member": append(slices.Clone(one), "reroll-forward", "reroll-slo"),
		"hub":          {"reroll-queue", "reroll-certificates", "reroll-api"},
		"watched":      append(slices.Clone(one[1:]), "reroll-slo"),
	} {
		var got []string
		for _, o := range custom(rendered(t, values), "PrometheusRule") {
			groups, _, err := unstructured.NestedSlice(o.Object, "spec", "groups")
			if err != nil {
				t.Fatal(err)
			}
			for _, group := range groups {
				got = append(got, group.(map[string]any)["name"].(string))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: groups of alerts (-want +got):\n%s", values, diff)
		}
	}
}

// ruleFile is where Prometheus reads the alerts of a PrometheusRule from.
func ruleFile(t *testing.T, args ...string) string {
	t.Helper()
	found := custom(decode(t, render(t, append([]string{"--set", "metrics.prometheusRule.enabled=true"}, args...)...)), "PrometheusRule")
	if len(found) != 1 {
		t.Fatalf("%d PrometheusRules", len(found))
	}
	text, err := yaml.Marshal(found[0].Object["spec"])
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "alerts.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestAbsenceOnPurposeIsNoAlert: who wants no API is not told for ever that there is none.
func TestAbsenceOnPurposeIsNoAlert(t *testing.T) {
	for set, want := range map[string]bool{
		"deploymentMode=roles,nats.url=nats://n:4222":                    true,
		"deploymentMode=roles,nats.url=nats://n:4222,api.replicaCount=0": false,
		"deploymentMode=hub,nats.url=nats://n:4222,api.replicaCount=0":   false,
		"dryRun=false":       true,
		"api.replicaCount=0": true, // of roles
		"replicaCount=0":     false,
		"deploymentMode=roles,nats.url=nats://n:4222,ingest.replicaCount=0": true,
	} {
		text, err := os.ReadFile(ruleFile(t, "--set", set))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(text), "alert: RerollAPIAbsent"); got != want {
			t.Errorf("%s: an alert about an absent API: %t, want %t", set, got, want)
		}
		if !strings.Contains(string(text), "alert: RerollAPIFails") {
			t.Errorf("%s: there is no other alert about the API", set)
		}
	}
}

func TestDashboardsAreTheFiles(t *testing.T) {
	files, err := filepath.Glob(chart + "/files/dashboards/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	want := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want[filepath.Base(file)] = strings.TrimSpace(string(text))
	}
	got := map[string]string{}
	for _, object := range decode(t, render(t, "--set", "grafanaDashboards.enabled=true,grafanaDashboards.namespace=grafana")) {
		if config, ok := object.(*corev1.ConfigMap); ok && config.Namespace == "grafana" && config.Labels["grafana_dashboard"] == "1" {
			for name, text := range config.Data {
				got[name] = strings.TrimSpace(text)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dashboards (-files +ConfigMaps):\n%s", diff)
	}
}

// TestCertificatesAreWhatIsAskedFor: cert-manager makes the Secrets that the pods mount and reroll audit setup takes, for the names that both ends
// look for.
func TestCertificatesAreWhatIsAskedFor(t *testing.T) {
	names := map[string][]string{}
	for _, o := range custom(rendered(t, "roles"), "Certificate") {
		secret, _, _ := unstructured.NestedString(o.Object, "spec", "secretName")
		hosts, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "dnsNames")
		names[secret] = hosts
	}
	want := map[string][]string{
		"example-reroll-ingest-tls":   {"example-reroll-ingest.reroll-system.svc", "example-reroll-ingest.reroll-system.svc.cluster.local"},
		"example-reroll-audit-client": {"east.audit.reroll.dev"},
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("names by Secret (-want +got):\n%s", diff)
	}
}

// TestNobodyAsksForCertificatesOfNobody: without a feed there is neither a certificate, whatever cert-manager is told, nor somebody to be
// recognised by one.
func TestNobodyAsksForCertificatesOfNobody(t *testing.T) {
	objects := rendered(t, "watched", "--set", "ingest.tls.certManager.enabled=true,ingest.tls.certManager.issuerRef.name=ca,ingest.tls.requireClientCert=false")
	if made := custom(objects, "Certificate"); len(made) > 0 {
		t.Errorf("%d certificates, and nobody shows them", len(made))
	}
}

// TestCertificateOfTheWebhook: cert-manager makes what the pods mount, for the name that the API server calls, and nobody else may make one. Reroll
// publishes the secret path alone.
func TestCertificateOfTheWebhook(t *testing.T) {
	for shape, values := range map[string]string{"default": "dryRun=false", "roles": "admission.tls.existingSecret="} {
		objects := rendered(t, shape, "--set", values+",admission.enabled=true,admission.tls.certManager.enabled=true,admission.tls.certManager.issuerRef.name=ca")
		made := ""
		for _, o := range custom(objects, "Certificate") {
			hosts, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "dnsNames")
			if slices.Equal(hosts, []string{"example-reroll-admission.reroll-system.svc"}) {
				made, _, _ = unstructured.NestedString(o.Object, "spec", "secretName")
			}
		}
		if made == "" {
			t.Fatalf("%s: no certificate for the webhook", shape)
		}
		mounted := false
		for _, w := range workloads(t, objects) {
			mounted = mounted || slices.ContainsFunc(w.pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Secret != nil && v.Secret.SecretName == made })
		}
		if !mounted {
			t.Errorf("%s: no pod mounts %s", shape, made)
		}
		for _, object := range objects {
			if role, ok := object.(*rbacv1.Role); ok && strings.HasSuffix(role.Name, "-admission") {
				t.Errorf("%s: %s may make a certificate", shape, role.Name)
			}
		}
	}
}
