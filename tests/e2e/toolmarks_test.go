//go:build nightly

package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// asking are the annotations by which each dialect is asked for the Secret token and the ConfigMap settings.
var asking = map[string]map[string]string{
	"own":        {"reroll.dev/auto": "true"},
	"stakater":   line.Auto,
	"wave":       {"wave.pusher.com/update-on-config-change": "true"},
	"sap":        {"pod-reloader.cs.sap.com/configmaps": "settings", "pod-reloader.cs.sap.com/secrets": "token"},
	"collaborne": {"reloader.k8s.collaborne.com/configmap": "settings", "reloader.k8s.collaborne.com/secret": "token"},
	"fabric8":    {"configmap.fabric8.io/update-on-change": "settings"}, // it knows ConfigMaps alone
	"trigger":    {"trigger.k8s.io/triggering-configMaps": "settings", "trigger.k8s.io/triggering-secrets": "token"},
}

// TestToolMarks turns the marks of tools off, and on again: nothing rolls by that, each edit rolls each workload once, and without them only Reroll's own
// annotations and variables are written, whose hashes are keyed.
func TestToolMarks(t *testing.T) {
	l := ownLine(t, line.Options{
		Kube:  kube.Options{Audit: &kube.Audit{InitialBackoff: time.Second}},
		Flags: []string{"--set", "debounce.window=" + window.String()},
	})
	r := line.NewRoom(t, l)
	r.Config("settings", "0")
	r.Secret("token", "0")
	want := map[string]int{}
	for name, annotations := range asking {
		r.Deploy(name, annotations, line.FromConfigMap("settings"), line.FromSecret("token"))
		want[name] = 0
	}
	r.Quiet()
	rolled := func(but string) {
		for name := range asking {
			if name != but {
				want[name]++
			}
		}
		for name, n := range want {
			r.Rolled(name, n)
		}
	}
	for step, flag := range []string{"--set=reload.toolMarks=false", "--set=reload.toolMarks=true"} {
		r.Restart(flag)
		r.Quiet()
		value := "guess-" + string(rune('a'+step))
		r.EditSecret("token", value)
		rolled("fabric8")
		r.Edit("settings", value)
		rolled("")
		for name := range asking {
			template := r.Deployment(name).Spec.Template
			marks := slices.Collect(maps.Keys(template.Annotations))
			for _, v := range template.Spec.Containers[0].Env {
				marks = append(marks, v.Name)
			}
			foreign := slices.DeleteFunc(marks, func(mark string) bool {
				return strings.HasPrefix(mark, "reroll.dev/") || strings.HasPrefix(mark, "REROLL_")
			})
			if own := step == 0 || name == "own"; own != (len(foreign) == 0) {
				t.Errorf("%s: the pod template of %s has the marks %q of tools", flag, name, foreign)
			}
		}
	}
}
