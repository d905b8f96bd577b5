package chart_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/tests/line"
)

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
