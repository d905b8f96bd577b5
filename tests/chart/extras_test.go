package chart_test

import (
	"os"
	"os/exec"
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

// alertGroups returns the names of the groups of alerts.
func alertGroups(t *testing.T, objects []runtime.Object) (names []string) {
	t.Helper()
	for _, object := range objects {
		o, ok := object.(*unstructured.Unstructured)
		if !ok || o.GetKind() != "PrometheusRule" {
			continue
		}
		groups, _, err := unstructured.NestedSlice(o.Object, "spec", "groups")
		line.Must(t, err)
		for _, group := range groups {
			names = append(names, group.(map[string]any)["name"].(string))
		}
	}
	return names
}

// TestAbsenceOnPurposeIsNoAlert: who wants no API is not told for ever that there is none.
func TestAbsenceOnPurposeIsNoAlert(t *testing.T) {
	for set, want := range map[string]bool{
		"mode=split,nats.url=nats://n:4222,api.replicaCount=0": false,
		"api.replicaCount=0": true, // of roles
		"replicaCount=0":     false,
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

// configMounted is the file of settings in a pod.
const configMounted = "--config=/etc/reroll/config/reroll.yaml"

// configFile writes the settings of a rendered chart as the pod has them, and returns the flag that names them.
func configFile(t *testing.T, objects []runtime.Object) string {
	t.Helper()
	for _, object := range objects {
		if config, ok := object.(*corev1.ConfigMap); ok && config.Data["reroll.yaml"] != "" {
			file := filepath.Join(t.TempDir(), "reroll.yaml")
			line.Must(t, os.WriteFile(file, []byte(config.Data["reroll.yaml"]), 0o600))
			return "--config=" + file
		}
	}
	t.Fatal("the chart has no settings")
	return ""
}

// TestSettingsAreAccepted has the real binary check the settings that it is started with in each pod.
func TestSettingsAreAccepted(t *testing.T) {
	binary, err := line.Build(t.Context())
	line.Must(t, err)
	for _, folder := range valuesCases(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			objects := decode(t, render(t, "--values", folder+"/values.yaml"))
			file := configFile(t, objects)
			for _, w := range workloads(t, objects) {
				container := w.pod.Spec.Containers[0]
				args := slices.Clone(container.Args)
				if i := slices.Index(args, configMounted); i < 0 {
					t.Errorf("%s does not read its settings", w.name)
				} else {
					args[i] = file
				}
				cmd := exec.CommandContext(t.Context(), binary, append(args, "--check")...)
				for _, v := range container.Env {
					if value := stored[v.Name]; value != "" {
						cmd.Env = append(cmd.Env, v.Name+"="+value)
					} else {
						t.Errorf("%s has the variable %s", w.name, v.Name)
					}
				}
				if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "no effect") {
					t.Errorf("%s: %v: %s", w.name, err, out)
				}
			}
		})
	}
}

// stored are the values of variables that come from Secrets, and of fields of the pod.
var stored = map[string]string{
	"REROLL_NOTIFICATIONS_URL": "https://chat.example.com/hook",
	"REROLL_WEBHOOK_URL":       "https://hooks.example.com",
	"POD_NAME":                 "reroll-0",
	"POD_NAMESPACE":            namespace,
}
