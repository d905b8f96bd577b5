package strategy_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/strategy"
)

// writtenByMarker has the managed fields say that the variables of a container were written as marks are.
func writtenByMarker(container string, names ...string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		fields := ""
		for _, name := range names {
			fields += `"k:{\"name\":\"` + name + `\"}":{".":{},"f:name":{},"f:value":{}},`
		}
		d.ManagedFields = append(d.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: "Reloader", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "apps/v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"` + container +
				`\"}":{"f:env":{` + fields + `".":{}}}}}}}}`),
		})
	}
}

func TestTidy(t *testing.T) {
	type edits []func(*appsv1.Deployment)
	cases := map[string]struct {
		reason       string
		has, want    edits
		wanted, gone []reloader.Config
	}{
		"gone": {
			"the mark of a deleted config goes, and what is behind it moves up",
			edits{env(1, "STAKATER_C_CONFIGMAP", hashA), env(1, "Z", "9")},
			edits{env(1, "Z", "9")},
			nil,
			[]reloader.Config{cm("c")},
		},
		"gone, several": {
			"from behind, so that each is still where it was read",
			edits{env(0, "STAKATER_X_SECRET", hashA), env(0, "M", "1"), env(0, "STAKATER_Y_SECRET", hashB)},
			edits{env(0, "M", "1")},
			nil,
			[]reloader.Config{sec("x"), sec("y")},
		},
		"stale": {
			"the mark of a config that nobody wants goes",
			edits{env(0, "STAKATER_OLD_SECRET", hashA), env(1, "STAKATER_C_CONFIGMAP", hashB), writtenByMarker("first", "STAKATER_OLD_SECRET"), writtenByMarker("second", "STAKATER_C_CONFIGMAP")},
			edits{env(1, "STAKATER_C_CONFIGMAP", hashB), writtenByMarker("first", "STAKATER_OLD_SECRET"), writtenByMarker("second", "STAKATER_C_CONFIGMAP")},
			[]reloader.Config{cm("c")},
			nil,
		},
		"in another container": {
			"a mark that a container carries for another one goes",
			edits{env(0, "STAKATER_C_CONFIGMAP", hashA), env(1, "STAKATER_C_CONFIGMAP", hashA), writtenByMarker("first", "STAKATER_C_CONFIGMAP")},
			edits{env(1, "STAKATER_C_CONFIGMAP", hashA), writtenByMarker("first", "STAKATER_C_CONFIGMAP")},
			[]reloader.Config{cm("c")},
			nil,
		},
		"somebody's own": {
			"what somebody else wrote stays, however it is named",
			edits{env(0, "STAKATER_OLD_SECRET", hashA)},
			edits{env(0, "STAKATER_OLD_SECRET", hashA)},
			[]reloader.Config{cm("c")},
			nil,
		},
		"no hash": {
			"what has no hash as its value stays",
			edits{env(0, "STAKATER_OLD_SECRET", "mine"), writtenByMarker("first", "STAKATER_OLD_SECRET")},
			edits{env(0, "STAKATER_OLD_SECRET", "mine"), writtenByMarker("first", "STAKATER_OLD_SECRET")},
			[]reloader.Config{cm("c")},
			nil,
		},
		"no kind": {
			"what is not named after a kind of config stays",
			edits{env(0, "STAKATER_OLD_THING", hashA), writtenByMarker("first", "STAKATER_OLD_THING")},
			edits{env(0, "STAKATER_OLD_THING", hashA), writtenByMarker("first", "STAKATER_OLD_THING")},
			[]reloader.Config{cm("c")},
			nil,
		},
		"not known what is wanted": {
			"nothing but what is gone goes",
			edits{env(0, "STAKATER_OLD_SECRET", hashA), writtenByMarker("first", "STAKATER_OLD_SECRET")},
			edits{env(0, "STAKATER_OLD_SECRET", hashA), writtenByMarker("first", "STAKATER_OLD_SECRET")},
			nil,
			[]reloader.Config{cm("c")},
		},
		"wanted and gone": {
			"a mark that another config shares is wanted",
			edits{env(0, "STAKATER_A_B_SECRET", hashA)},
			edits{env(0, "STAKATER_A_B_SECRET", hashA)},
			[]reloader.Config{sec("a.b")},
			[]reloader.Config{sec("a-b")},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := deployment(c.has...)
			got, err := apply(t, d, strategy.EnvVars.Tidy(stripped(t, d), c.wanted, c.gone))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(deployment(c.want...).Spec, got.Spec, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestTidyRemovesNothingElse: if the variables of a container are not as they were read, no patch removes one, and each removal stands
// behind the tests of its own name and value.
func TestTidyRemovesNothingElse(t *testing.T) {
	at := func(d *appsv1.Deployment) *corev1.EnvVar { return &d.Spec.Template.Spec.Containers[1].Env[1] }
	read := deployment(env(1, "STAKATER_C_CONFIGMAP", hashA), env(1, "STAKATER_D_CONFIGMAP", hashA))
	ops := strategy.EnvVars.Tidy(stripped(t, read), nil, []reloader.Config{cm("c")})
	for name, moved := range map[string]func(*appsv1.Deployment){
		"another variable of that value": func(d *appsv1.Deployment) { at(d).Name = "STAKATER_D_CONFIGMAP" },
		"another value of that name":     func(d *appsv1.Deployment) { at(d).Value = hashB },
		"a value from elsewhere": func(d *appsv1.Deployment) {
			*at(d) = corev1.EnvVar{Name: "STAKATER_C_CONFIGMAP", ValueFrom: &corev1.EnvVarSource{}}
		},
		"one in front": func(d *appsv1.Deployment) {
			c := &d.Spec.Template.Spec.Containers[1]
			c.Env = slices.Insert(c.Env, 0, corev1.EnvVar{Name: "NEW", Value: "1"})
		},
		"no variable": func(d *appsv1.Deployment) {
			c := &d.Spec.Template.Spec.Containers[1]
			c.Env = c.Env[:1]
		},
	} {
		if got, err := apply(t, deployment(env(1, "STAKATER_C_CONFIGMAP", hashA), env(1, "STAKATER_D_CONFIGMAP", hashA), moved), ops); err == nil {
			t.Errorf("%s: the patch passed, and leaves %+v", name, got.Spec.Template.Spec.Containers[1].Env)
		}
	}
	path := "/spec/template/spec/containers/1/env/1"
	want := []strategy.Op{
		{Op: "test", Path: path + "/name", Value: "STAKATER_C_CONFIGMAP"},
		{Op: "test", Path: path + "/value", Value: hashA},
		{Op: "remove", Path: path},
	}
	if diff := cmp.Diff(want, ops); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}
