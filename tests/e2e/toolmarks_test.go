//go:build nightly

package e2e

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"hash"
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

// TestToolMarks turns the marks of tools off, and on again: nothing rolls by that, each edit rolls each workload once, and what is written without them
// can be computed from no content.
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
			found := guessed(r, name, value)
			switch keyed := step == 0 || name == "own" || name == "sap"; {
			case keyed && len(found) > 0:
				t.Errorf("%s: the pod template of %s has unkeyed hashes of content: %q", flag, name, found)
			case !keyed && len(found) == 0:
				t.Errorf("%s: the hash of %s is not found where it is: the search proves nothing", flag, name)
			}
		}
	}
}

// guessed returns the hashes of a value that stand on a Deployment: of it alone, and of a config with the key k, as the tools write them down,
// in every form that a hash is written in, also cut off.
func guessed(r *line.Room, name, value string) (found []string) {
	r.T.Helper()
	d := r.Deployment(name)
	marks, err := json.Marshal([]any{d.Spec.Template, d.Annotations})
	r.Must(err)
	for _, text := range serialised(value) {
		for _, h := range []hash.Hash{md5.New(), sha1.New(), sha256.New(), sha512.New()} {
			h.Write([]byte(text))
			sum := h.Sum(nil)
			for _, form := range []string{hex.EncodeToString(sum), base64.StdEncoding.EncodeToString(sum), base64.URLEncoding.EncodeToString(sum)} {
				if strings.Contains(string(marks), form[:16]) {
					found = append(found, form)
				}
			}
		}
	}
	return found
}

// serialised returns the texts of which a hash of a config with the key k may be made.
func serialised(value string) []string {
	encoded := base64.StdEncoding.EncodeToString([]byte(value))
	plain, binary := `{"k":"`+value+`"}`, `{"k":"`+encoded+`"}`
	of := func(configMaps, secrets string) string {
		return `{"configMaps":` + configMaps + `,"secrets":` + secrets + `}`
	}
	config, token := `{"settings":`+binary+`}`, `{"token":`+binary+`}`
	return []string{
		value, encoded, "k" + value, "k=" + value, "k=" + encoded, "k:" + value, "k=" + value + ";", "k=" + value + "\n", plain, binary,
		of(config, token), of(config, "{}"), of("{}", token),
	}
}
