package strategy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

const (
	shaA     = "b8ec6ae431c4666f7c14262382289398c4cbf719961a54033d5b6496d51022fd"
	fabricA  = "AQLMWa-DWdqd4i0439EvrV5iYvpCYwngonOlPCvJ2X0="
	fabricB  = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU="
	longName = "a-name-that-is-too-long-for-the-key-of-an-annotation"
)

// keeping strips d but for all annotations.
func keeping(t testing.TB, d *appsv1.Deployment) *workload.Workload {
	t.Helper()
	w, err := workload.Deployment.Strip(d, func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestPatchesOfTools: each tool's marks stand where the tool writes them, are found there again, and are not written twice.
func TestPatchesOfTools(t *testing.T) {
	type edits []func(*appsv1.Deployment)
	for name, c := range map[string]struct {
		reason    string
		strategy  strategy.Strategy
		has, want edits
		config    reloader.Config
		value     string
	}{
		"sap":                    {"one annotation", strategy.SAP, nil, edits{templateAnnotation(strategy.SAPHashKey, shaA)}, cm("c"), shaA},
		"wave":                   {"in place of the old", strategy.Wave, edits{templateAnnotation(strategy.WaveHashKey, hashA)}, edits{templateAnnotation(strategy.WaveHashKey, shaA)}, cm("c"), shaA},
		"collaborne":             {"in the first container, not in the one that uses it", strategy.Collaborne, nil, edits{env(0, "_RELOADER_CONFIGMAP_MY_APP_CONF", hashA)}, cm("my-app.conf"), hashA},
		"collaborne, somewhere":  {"where it is", strategy.Collaborne, edits{env(1, "_RELOADER_SECRET_C", hashA)}, edits{env(1, "_RELOADER_SECRET_C", hashB)}, sec("c"), hashB},
		"fabric8":                {"in every container", strategy.Fabric8, nil, edits{env(0, "FABRIC8_B_C_CONFIGMAP", fabricA), env(1, "FABRIC8_B_C_CONFIGMAP", fabricA)}, cm("b.c"), fabricA},
		"fabric8, new container": {"comes along", strategy.Fabric8, edits{env(1, "FABRIC8_C_CONFIGMAP", fabricA)}, edits{env(1, "FABRIC8_C_CONFIGMAP", fabricB), env(0, "FABRIC8_C_CONFIGMAP", fabricB)}, cm("c"), fabricB},
		"trigger":                {"by kind and name", strategy.Trigger, edits{templateAnnotation("a", "b")}, edits{templateAnnotation("a", "b"), templateAnnotation("trigger.k8s.io/secret-c-last-hash", hashA)}, sec("c"), hashA},
	} {
		t.Run(name, func(t *testing.T) {
			d, want := deployment(c.has...), deployment(c.want...)
			marks := []strategy.Mark{{Config: c.config, Value: c.value, At: changed}}
			ops, err := c.strategy.Patch(keeping(t, d), marks)
			if err != nil {
				t.Fatal(err)
			}
			got, err := apply(t, d, strategy.Merge(ops))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			w := keeping(t, got)
			if value, found := c.strategy.Current(w, c.config); !found || value != c.value {
				t.Errorf("the mark that was written is found as %q, %v", value, found)
			}
			if again, err := c.strategy.Patch(w, marks); err != nil || len(again) > 0 {
				t.Errorf("it is written again: %v, %v", again, err)
			}
			if named, ok := strategy.Named(c.strategy.Name); !ok || named.Name != c.strategy.Name {
				t.Errorf("there is no strategy %s", c.strategy.Name)
			}
		})
	}
}

// TestMergeKeepsVariablesOfAll: two strategies that both begin the list of a container's variables.
func TestMergeKeepsVariablesOfAll(t *testing.T) {
	d := deployment()
	marks := []strategy.Mark{{Config: cm("x"), Value: hashA, At: changed}}
	var groups [][]strategy.Op
	for _, s := range []strategy.Strategy{strategy.EnvVars, strategy.Collaborne, strategy.SAP, strategy.Trigger} {
		ops, err := s.Patch(keeping(t, d), marks)
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, ops)
	}
	got, err := apply(t, d, strategy.Merge(groups...))
	if err != nil {
		t.Fatal(err)
	}
	want := deployment(env(0, "STAKATER_X_CONFIGMAP", hashA), env(0, "_RELOADER_CONFIGMAP_X", hashA),
		templateAnnotation(strategy.SAPHashKey, hashA), templateAnnotation("trigger.k8s.io/configMap-x-last-hash", hashA))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestPlacesThatAreTaken: what is somebody's own is no mark and stays.
func TestPlacesThatAreTaken(t *testing.T) {
	for name, c := range map[string]struct {
		strategy strategy.Strategy
		has      func(*appsv1.Deployment)
		config   reloader.Config
		want     bool
	}{
		"collaborne, own":       {strategy.Collaborne, env(0, "_RELOADER_SECRET_C", "hunter2"), sec("c"), true},
		"collaborne, mark":      {strategy.Collaborne, env(0, "_RELOADER_SECRET_C", hashA), sec("c"), false},
		"fabric8, own":          {strategy.Fabric8, env(1, "FABRIC8_C_CONFIGMAP", "hunter2"), cm("c"), true},
		"fabric8, mark":         {strategy.Fabric8, env(1, "FABRIC8_C_CONFIGMAP", fabricA), cm("c"), false},
		"trigger, long":         {strategy.Trigger, env(0, "A", "b"), cm(longName), true},
		"trigger, just right":   {strategy.Trigger, env(0, "A", "b"), cm(strings.Repeat("a", 43)), false},
		"trigger, one too many": {strategy.Trigger, env(0, "A", "b"), cm(strings.Repeat("a", 44)), true},
	} {
		w := keeping(t, deployment(c.has))
		if got := c.strategy.Taken(w, c.config); got != c.want {
			t.Errorf("%s: taken %v", name, got)
		}
		if value, found := c.strategy.Current(w, c.config); found && strings.Contains(value, "hunter") {
			t.Errorf("%s: %q is taken for a mark", name, value)
		}
	}
}
