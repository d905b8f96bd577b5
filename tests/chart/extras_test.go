package chart_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/tests/line"
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
		"split":        append(slices.Clone(one), "reroll-slo", "reroll-apiserver"),
		"fleet-member": append(slices.Clone(one), "reroll-forward", "reroll-slo"),
		"hub":          {"reroll-queue", "reroll-certificates", "reroll-api"},
		"watched":      append(slices.Clone(one[1:]), "reroll-slo"),
	} {
		var got []string
		for _, o := range custom(rendered(t, values), "PrometheusRule") {
			groups, _, err := unstructured.NestedSlice(o.Object, "spec", "groups")
			line.Must(t, err)
			for _, group := range groups {
				got = append(got, group.(map[string]any)["name"].(string))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: groups of alerts (-want +got):\n%s", values, diff)
		}
	}
}

// TestAbsenceOnPurposeIsNoAlert: who wants no API is not told for ever that there is none.
func TestAbsenceOnPurposeIsNoAlert(t *testing.T) {
	for set, want := range map[string]bool{
		"mode=split,nats.url=nats://n:4222":                    true,
		"mode=split,nats.url=nats://n:4222,api.replicaCount=0": false,
		"mode=hub,nats.url=nats://n:4222,api.replicaCount=0":   false,
		"dryRun=false":       true,
		"api.replicaCount=0": true, // of roles
		"replicaCount=0":     false,
		"mode=split,nats.url=nats://n:4222,ingest.replicaCount=0": true,
	} {
		text := render(t, "--set", "metrics.prometheusRule.enabled=true", "--set", set)
		if got := strings.Contains(text, "alert: RerollAPIAbsent"); got != want {
			t.Errorf("%s: an alert about an absent API: %t, want %t", set, got, want)
		}
		if !strings.Contains(text, "alert: RerollAPIFails") {
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
		line.Must(t, err)
		want[filepath.Base(file)] = strings.TrimSpace(string(text))
	}
	got := map[string]string{}
	for _, object := range decode(t, render(t, "--set", "grafanaDashboards.enabled=true")) {
		if config, ok := object.(*corev1.ConfigMap); ok && config.Labels["grafana_dashboard"] == "1" {
			for name, text := range config.Data {
				got[name] = strings.TrimSpace(text)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dashboards (-files +ConfigMaps):\n%s", diff)
	}
}
