package chart_test

import (
	"cmp"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/reroll-dev/reroll/tests/line"
)

// TestSettingsAreAccepted has the real binary check the settings that it is started with in each pod.
func TestSettingsAreAccepted(t *testing.T) {
	binary, err := line.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range valuesCases(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			for _, w := range workloads(t, decode(t, render(t, "--values", folder+"/values.yaml"))) {
				container := w.pod.Spec.Containers[0]
				cmd := exec.CommandContext(t.Context(), binary, slices.Concat(container.Args, []string{"--check"})...)
				for _, v := range container.Env {
					cmd.Env = append(cmd.Env, v.Name+"="+cmp.Or(v.Value, stored[v.Name], "stored"))
				}
				if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
					t.Errorf("%s: %v: %s", w.name, err, out)
				}
			}
		})
	}
}

// stored are the values of variables that come from Secrets, and of fields of the pod.
var stored = map[string]string{
	"REROLL_NOTIFICATIONS_PROXY": "http://proxy.example.com",
	"REROLL_NOTIFICATIONS_URL":   "https://chat.example.com/hook",
	"REROLL_NATS_URL":            "nats://user:password@nats.example.com:4222",
	"REROLL_WEBHOOK_URL":         "https://hooks.example.com",
	"POD_NAMESPACE":              namespace,
}
