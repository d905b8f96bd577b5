package strategy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// FuzzBrought reads what anybody may have written into the annotation that tells what a template was brought to.
func FuzzBrought(f *testing.F) {
	f.Add(strategy.BroughtWith("", cm("c"), "v1", "sum"), "v2", "other")
	f.Add(strings.Repeat("a,", 300), "v", "s")
	f.Add(",,:,", "", "")
	f.Fuzz(func(t *testing.T, text, version, sum string) {
		if version == "" || strings.Contains(version, ",") {
			return // no version is like that
		}
		before := keeping(t, deployment(annotation(strategy.BroughtKey, text)))
		after := strategy.BroughtWith(text, cm("c"), version, sum)
		if strings.Count(after, ",") > 127 {
			t.Fatalf("%d entries", strings.Count(after, ",")+1)
		}
		w := keeping(t, deployment(annotation(strategy.BroughtKey, after)))
		if got := strategy.BroughtVersion(w, cm("c")); got != version || !strategy.BroughtTo(w, cm("c"), sum) || strategy.BroughtTo(w, cm("c"), sum+"x") {
			t.Errorf("%q and then %q says that it was brought to %q", text, after, got)
		}
		if was := strategy.BroughtVersion(before, sec("s")); strings.Count(text, ",") < 100 && strategy.BroughtVersion(w, sec("s")) != was {
			t.Errorf("what it says of another one, %q, became %q", was, strategy.BroughtVersion(w, sec("s")))
		}
		if again := strategy.BroughtWith(after, cm("c"), version, sum); again != after {
			t.Errorf("%q became %q, and the same again %q", text, after, again)
		}
	})
}

// rolled returns the workload that is in JSON.
func rolled(t *testing.T, raw []byte) *workload.Workload {
	t.Helper()
	d := &appsv1.Deployment{}
	if err := json.Unmarshal(raw, d); err != nil {
		t.Fatal(err)
	}
	return keeping(t, d)
}

// FuzzStrategies has every strategy mark a workload on which anything stands where marks do. The patch must fit, and the mark be there then.
func FuzzStrategies(f *testing.F) {
	keys := []string{
		strategy.LastReloadedFromKey, strategy.SAPHashKey, strategy.ConfigDigestKey, strategy.BroughtKey,
		"wave.pusher.com/config-hash", "trigger.k8s.io/configMap-ns-c-last-hash", "deployment.kubernetes.io/revision",
	}
	variables := []string{strategy.EnvName(cm("c")), strategy.CollaborneEnvName(cm("c")), strategy.Fabric8EnvName(cm("c")), strategy.EnvName(sec("x"))}
	for i := range uint8(8) {
		f.Add(i, i, "0a", `{"type":"CONFIGMAP","name":"c","namespace":"ns","hash":"0a"}`)
		f.Add(i, i+1, "hunter2", `{"configmap/ns/c":"21f76dfbfe6dfe21"}`)
	}
	f.Fuzz(func(t *testing.T, which, variable uint8, value, text string) {
		d := deployment(annotation(keys[int(which)%len(keys)], text), templateAnnotation(keys[int(which/8)%len(keys)], text),
			env(int(which)%2, variables[int(variable)%len(variables)], value))
		w := keeping(t, d)
		for _, name := range []string{"env-vars", "annotations", "restart", "sap", "wave", "collaborne", "fabric8", "trigger"} {
			s, known := strategy.Named(name)
			if !known {
				continue
			}
			if s.Taken != nil && s.Taken(w, cm("c")) {
				continue
			}
			ops, err := s.Patch(w, []strategy.Mark{{Config: cm("c"), Value: "00aa11", At: time.Unix(1, 0)}})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			raw, err := json.Marshal(d)
			if err != nil {
				return // no API server sends this
			}
			body, err := strategy.Marshal(ops)
			if err != nil {
				t.Fatal(err)
			}
			patch, err := jsonpatch.DecodePatch(body)
			if err != nil {
				t.Fatalf("%s: %s: %v", name, body, err)
			}
			patched, err := patch.Apply(raw)
			if err != nil {
				t.Fatalf("%s: %s does not fit: %v", name, body, err)
			}
			if got, _ := s.Current(rolled(t, patched), cm("c")); got != "00aa11" && !s.ByTime {
				t.Errorf("%s: %s leaves the mark %q", name, body, got)
			}
		}
	})
}
