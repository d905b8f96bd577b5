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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// asking are the annotations by which each dialect is asked for the Secret token and the ConfigMap settings.
var asking = map[string]map[string]string{
	"own":        {"reroll.dev/auto": "true"},
	"stakater":   {"reloader.stakater.com/auto": "true"},
	"wave":       {"wave.pusher.com/update-on-config-change": "true"},
	"sap":        {"pod-reloader.cs.sap.com/configmaps": "settings", "pod-reloader.cs.sap.com/secrets": "token"},
	"collaborne": {"reloader.k8s.collaborne.com/configmap": "settings", "reloader.k8s.collaborne.com/secret": "token"},
	"fabric8":    {"configmap.fabric8.io/update-on-change": "settings"},
	"trigger":    {"trigger.k8s.io/triggering-configMaps": "settings", "trigger.k8s.io/triggering-secrets": "token"},
}

// TestToolMarks turns the marks of tools off, and on again: nothing rolls by that, each edit rolls each workload once, and what is written without them
// can be computed from no content.
func TestToolMarks(t *testing.T) {
	l := ownLine(t, line.Options{
		Kube:  kube.Options{Audit: &kube.Audit{InitialBackoff: time.Second}},
		Flags: []string{"--set", "debounce.window=" + window.String()},
	})
	r := newRoom(t, l)
	r.create(configMap("settings", map[string]string{"k": "0"}))
	r.create(secret("token", map[string]string{"k": "0"}))
	for name, annotations := range asking {
		d := deployment(name, usesEnvFrom("settings"), usesSecretVolume("token"))
		d.Annotations = annotations
		r.create(d)
	}
	for name := range asking {
		r.waitBaseline(name, baselines(name))
	}
	want := map[string]int64{}
	for name := range asking {
		want[name] = 0
	}
	for step, flag := range []string{"--set=reload.toolMarks=false", "--set=reload.toolMarks=true"} {
		r.must(l.Reroll.Terminate(r.ctx))
		r.must(l.Reroll.Start(flag))
		r.must(l.Reroll.WaitReady(r.ctx))
		r.rolledAll(want)
		value := "guess-" + string(rune('a'+step))
		r.setSecret("token", "k", value)
		for name := range asking {
			if baselines(name) == 2 {
				want[name]++
			}
		}
		r.rolledAll(want)
		r.setData("settings", "k", value)
		for name := range asking {
			want[name]++
		}
		r.rolledAll(want)
		for name := range asking {
			found := r.guessed(name, value)
			switch keyed := step == 0 || name == "own" || name == "sap"; {
			case keyed && len(found) > 0:
				t.Errorf("%s: the pod template of %s has unkeyed hashes of content: %q", flag, name, found)
			case !keyed && len(found) == 0:
				t.Errorf("%s: the hash of %s is not found where it is: the search proves nothing", flag, name)
			}
		}
	}
}

// rolledAll waits until each Deployment has rolled as often as is wanted, and fails the test if one does so more often.
func (r *room) rolledAll(want map[string]int64) {
	r.t.Helper()
	for name, n := range want {
		r.waitRolls(name, n)
	}
	r.quiesce()
	for name, n := range want {
		if got := r.rolls(name); got != n {
			r.t.Fatalf("%s rolled %d times, not %d\nreroll's log:\n%s", name, got, n, tail(r.line.Reroll.Log()))
		}
	}
}

// baselines is for how many configs a workload of asking has a baseline.
func baselines(name string) int {
	if name == "fabric8" {
		return 1 // it knows ConfigMaps alone
	}
	return 2
}

func (r *room) setSecret(name, key, value string) {
	r.t.Helper()
	s, err := r.client.CoreV1().Secrets(r.ns).Get(r.ctx, name, metav1.GetOptions{})
	r.must(err)
	s.Data[key] = []byte(value)
	_, err = r.client.CoreV1().Secrets(r.ns).Update(r.ctx, s, metav1.UpdateOptions{})
	r.must(err)
}

// guessed returns the hashes of a value that stand on a Deployment of ours: of it alone, and of a config with the key k, as the tools write them down,
// in every form that a hash is written in, also cut off.
func (r *room) guessed(name, value string) []string {
	r.t.Helper()
	d, err := r.client.AppsV1().Deployments(r.ns).Get(r.ctx, name, metav1.GetOptions{})
	r.must(err)
	marks, err := json.Marshal([]any{d.Spec.Template, d.Annotations})
	r.must(err)
	var found []string
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
	plain, _ := json.Marshal(corev1.ConfigMap{Data: map[string]string{"k": value}}.Data)
	binary, _ := json.Marshal(map[string]string{"k": encoded})
	of := func(configMaps, secrets string) string {
		return `{"configMaps":` + configMaps + `,"secrets":` + secrets + `}`
	}
	config, token := `{"settings":`+string(binary)+`}`, `{"token":`+string(binary)+`}`
	return []string{
		value, encoded, "k" + value, "k=" + value, "k=" + encoded, "k:" + value, "k=" + value + ";", "k=" + value + "\n", string(plain), string(binary),
		of(config, token), of(config, "{}"), of("{}", token),
	}
}
