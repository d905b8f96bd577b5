package strategy_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	jsonpatch5 "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	jsonpatch4 "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

const (
	hashA = "124b8637e8fbd0a8f4b54eab4887556e41cdaa4d"
	hashB = "31852fecfab75f296caef2c8cf330de833eda546"
)

var changed = time.Date(2026, 11, 20, 10, 0, 1, 999, time.UTC)

func cm(name string) reloader.Config {
	return reloader.Config{Kind: reloader.ConfigMap, Namespace: "ns", Name: name}
}

func sec(name string) reloader.Config {
	return reloader.Config{Kind: reloader.Secret, Namespace: "ns", Name: name}
}

// deployment has two containers: first has no variable, second has one and takes all of ConfigMap c.
func deployment(edits ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	d.Namespace, d.Name, d.UID, d.Generation = "ns", "app", "u1", 4
	d.Spec.Template.Spec.Containers = []corev1.Container{
		{Name: "first"},
		{Name: "second", Env: []corev1.EnvVar{{Name: "A", Value: "1"}}, EnvFrom: []corev1.EnvFromSource{
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}},
		}},
	}
	for _, edit := range edits {
		edit(d)
	}
	return d
}

func env(container int, name, value string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		c := &d.Spec.Template.Spec.Containers[container]
		c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value})
	}
}

func templateAnnotation(key, value string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		if d.Spec.Template.Annotations == nil {
			d.Spec.Template.Annotations = map[string]string{}
		}
		d.Spec.Template.Annotations[key] = value
	}
}

func annotation(key, value string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		if d.Annotations == nil {
			d.Annotations = map[string]string{}
		}
		d.Annotations[key] = value
	}
}

// stripped keeps the marks' annotations only, as in the cache: others exist and are not seen.
func stripped(t testing.TB, d *appsv1.Deployment) *workload.Workload {
	t.Helper()
	w, err := workload.Deployment.Strip(d, func(key string) bool {
		return key == strategy.LastReloadedFromKey || key == strategy.ConfigDigestKey
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// apply applies the operations as the API server does, and with the library's next version, and requires one result.
func apply(t testing.TB, d *appsv1.Deployment, groups ...[]strategy.Op) (*appsv1.Deployment, error) {
	t.Helper()
	patch, err := strategy.Marshal(groups...)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	p4, err := jsonpatch4.DecodePatch(patch)
	if err != nil {
		t.Fatalf("decode %s: %v", patch, err)
	}
	p5, err := jsonpatch5.DecodePatch(patch)
	if err != nil {
		t.Fatalf("decode %s: %v", patch, err)
	}
	out4, err4 := p4.Apply(doc)
	out5, err5 := p5.Apply(doc)
	if (err4 == nil) != (err5 == nil) {
		t.Fatalf("apply %s: %v, but %v", patch, err4, err5)
	}
	if err4 != nil {
		return nil, err4
	}
	if !jsonpatch4.Equal(out4, out5) {
		t.Fatalf("apply %s: %s, but %s", patch, out4, out5)
	}
	got := &appsv1.Deployment{}
	if err := json.Unmarshal(out4, got); err != nil {
		t.Fatal(err)
	}
	return got, nil
}

func TestPatches(t *testing.T) {
	from := func(config reloader.Config, hash, container string) string {
		kind := map[reloader.ConfigKind]string{reloader.ConfigMap: "CONFIGMAP", reloader.Secret: "SECRET"}[config.Kind]
		return `{"type":"` + kind + `","name":"` + config.Name + `","namespace":"ns","hash":"` + hash + `","containerRefs":["` + container + `"],"observedAt":1795168801}`
	}
	mark := func(c reloader.Config, value string, age time.Duration) strategy.Mark {
		return strategy.Mark{Config: c, Value: value, At: changed.Add(-age)}
	}
	type edits []func(*appsv1.Deployment)
	cases := map[string]struct {
		reason    string
		strategy  strategy.Strategy
		has, want edits
		marks     []strategy.Mark
	}{
		"variable, new": {
			"added behind the others in the container that uses the config", strategy.EnvVars, nil,
			edits{env(1, "STAKATER_C_CONFIGMAP", hashA)},
			[]strategy.Mark{mark(cm("c"), hashA, 0)},
		},
		"variable, no env": {
			"the list is created in the first container, which carries what is only named", strategy.EnvVars, nil,
			edits{env(0, "STAKATER_NAMED_SECRET", hashA)},
			[]strategy.Mark{mark(sec("named"), hashA, 0)},
		},
		"variables, no env": {
			"the list is created once", strategy.EnvVars, nil,
			edits{env(0, "STAKATER_X_SECRET", hashA), env(0, "STAKATER_Y_SECRET", hashB)},
			[]strategy.Mark{mark(sec("y"), hashB, time.Second), mark(sec("x"), hashA, 0)},
		},
		"variable, replaced": {
			"in place, so that the order of variables stays", strategy.EnvVars,
			edits{env(1, "STAKATER_C_CONFIGMAP", hashA), env(1, "Z", "9")},
			edits{env(1, "STAKATER_C_CONFIGMAP", hashB), env(1, "Z", "9")},
			[]strategy.Mark{mark(cm("c"), hashB, 0)},
		},
		"variable that was no mark": {
			"replaced as a whole: a value beside valueFrom would be refused", strategy.EnvVars,
			edits{func(d *appsv1.Deployment) {
				c := &d.Spec.Template.Spec.Containers[1]
				c.Env = append(c.Env, corev1.EnvVar{Name: "STAKATER_C_CONFIGMAP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}})
			}},
			edits{env(1, "STAKATER_C_CONFIGMAP", hashB)},
			[]strategy.Mark{mark(cm("c"), hashB, 0)},
		},
		"variable, current": {
			"nothing is written", strategy.EnvVars,
			edits{env(1, "STAKATER_C_CONFIGMAP", hashA)},
			edits{env(1, "STAKATER_C_CONFIGMAP", hashA)},
			[]strategy.Mark{mark(cm("c"), hashA, 0)},
		},
		"variable in another container": {
			"only the chosen container counts", strategy.EnvVars,
			edits{env(0, "STAKATER_C_CONFIGMAP", hashA)},
			edits{env(0, "STAKATER_C_CONFIGMAP", hashA), env(1, "STAKATER_C_CONFIGMAP", hashA)},
			[]strategy.Mark{mark(cm("c"), hashA, 0)},
		},
		"variables of several containers": {
			"each in its own", strategy.EnvVars, nil,
			edits{env(1, "STAKATER_C_CONFIGMAP", hashA), env(0, "STAKATER_X_SECRET", hashB)},
			[]strategy.Mark{mark(sec("x"), hashB, 0), mark(cm("c"), hashA, 0)},
		},
		"configs that share a variable": {
			"the newest wins, and the variable is there once", strategy.EnvVars, nil,
			edits{env(0, "STAKATER_A_B_SECRET", hashB)},
			[]strategy.Mark{mark(sec("a-b"), hashA, time.Second), mark(sec("a.b"), hashB, 0)},
		},
		"annotation, new": {
			"the map is created", strategy.Annotations, nil,
			edits{templateAnnotation(strategy.LastReloadedFromKey, from(cm("c"), hashA, "second"))},
			[]strategy.Mark{mark(cm("c"), hashA, 0)},
		},
		"annotation beside others": {
			"those that the cache does not know are kept", strategy.Annotations,
			edits{templateAnnotation("other", "1")},
			edits{templateAnnotation("other", "1"), templateAnnotation(strategy.LastReloadedFromKey, from(sec("s"), hashA, "first"))},
			[]strategy.Mark{mark(sec("s"), hashA, 0)},
		},
		"annotation, several": {
			"the newest wins", strategy.Annotations, nil,
			edits{templateAnnotation(strategy.LastReloadedFromKey, from(sec("s"), hashB, "first"))},
			[]strategy.Mark{mark(cm("c"), hashA, time.Minute), mark(sec("s"), hashB, 0)},
		},
		"annotation, several of one time": {
			"the first by name wins, whatever their order", strategy.Annotations, nil,
			edits{templateAnnotation(strategy.LastReloadedFromKey, from(cm("c"), hashA, "second"))},
			[]strategy.Mark{mark(sec("s"), hashB, 0), mark(cm("c"), hashA, 0)},
		},
		"annotation, current": {
			"nothing is written, also if the time would differ", strategy.Annotations,
			edits{templateAnnotation(strategy.LastReloadedFromKey, from(cm("c"), hashA, "second"))},
			edits{templateAnnotation(strategy.LastReloadedFromKey, from(cm("c"), hashA, "second"))},
			[]strategy.Mark{mark(cm("c"), hashA, -time.Hour)},
		},
		"annotation, newest is current": {
			"the other one is still to be written", strategy.Annotations,
			edits{templateAnnotation(strategy.LastReloadedFromKey, from(cm("c"), hashA, "second"))},
			edits{templateAnnotation(strategy.LastReloadedFromKey, from(sec("s"), hashB, "first"))},
			[]strategy.Mark{mark(cm("c"), hashA, -time.Hour), mark(sec("s"), hashB, 0)},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d, want := deployment(c.has...), deployment(c.want...)
			w := stripped(t, d)
			ops, err := c.strategy.Patch(w, c.marks)
			if err != nil {
				t.Fatal(err)
			}
			got, err := apply(t, d, strategy.Precondition(w), ops)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if (len(ops) == 0) != cmp.Equal(d, want) {
				t.Errorf("%d operations", len(ops))
			}
			again, err := c.strategy.Patch(stripped(t, got), c.marks[len(c.marks)-1:])
			if len(c.marks) == 1 && (err != nil || len(again) != 0) {
				t.Errorf("the patched workload is patched again: %v, %v", again, err)
			}
		})
	}
}

func TestCurrentReadsWhatPatchWrites(t *testing.T) {
	for _, s := range strategy.All {
		for _, c := range []reloader.Config{cm("c"), sec("named.only")} {
			d := deployment()
			w := stripped(t, d)
			if value, found := s.Current(w, c); found {
				t.Errorf("%s: an unmarked workload carries %q for %s", s.Name, value, c)
			}
			ops, err := s.Patch(w, []strategy.Mark{{Config: c, Value: hashA, At: changed}})
			if err != nil {
				t.Fatal(err)
			}
			got, err := apply(t, d, ops)
			if err != nil {
				t.Fatal(err)
			}
			if value, found := s.Current(stripped(t, got), c); !found || value != hashA {
				t.Errorf("%s: Current(%s) = %q, %v; want the mark", s.Name, c, value, found)
			}
			if value, found := s.Current(stripped(t, got), cm("else")); found {
				t.Errorf("%s: another config has the mark %q", s.Name, value)
			}
		}
	}
}

func TestCurrentAnnotation(t *testing.T) {
	cases := map[string]struct {
		reason, value, want string
		found               bool
	}{
		"v1":              {"as v1 writes it", `{"type":"CONFIGMAP","name":"c","namespace":"ns","hash":"` + hashA + `","containerRefs":["x"],"observedAt":1}`, hashA, true},
		"v2":              {"as v2 writes it", `{"kind":"configmap","name":"c","namespace":"ns","hash":"` + hashA + `","containers":["x"],"reloadedAt":"2026-01-01T00:00:00Z"}`, hashA, true},
		"other name":      {"the one place may belong to another config", `{"type":"CONFIGMAP","name":"d","namespace":"ns","hash":"` + hashA + `"}`, "", false},
		"other namespace": {"copied from elsewhere", `{"type":"CONFIGMAP","name":"c","namespace":"ns2","hash":"` + hashA + `"}`, "", false},
		"other kind":      {"a secret of that name", `{"type":"SECRET","name":"c","namespace":"ns","hash":"` + hashA + `"}`, "", false},
		"no JSON":         {"somebody wrote it by hand", `yes`, "", false},
		"other JSON":      {"the hash is a string", `{"type":"CONFIGMAP","name":"c","namespace":"ns","hash":7}`, "", false},
		"no hash":         {"what is no hash may be content, and is not shown", `{"type":"CONFIGMAP","name":"c","namespace":"ns","hash":"hunter2"}`, "", true},
		"too long":        {"not parsed", `{"type":"CONFIGMAP","name":"c","namespace":"ns","hash":"` + hashA + `","x":"` + string(make([]byte, 9000)) + `"}`, "", false},
	}
	for name, c := range cases {
		w := stripped(t, deployment(templateAnnotation(strategy.LastReloadedFromKey, c.value)))
		if got, found := strategy.Annotations.Current(w, cm("c")); got != c.want || found != c.found {
			t.Errorf("%s: Current = %q, %v; want %q, %v: %s", name, got, found, c.want, c.found, c.reason)
		}
	}
}

func TestCurrentTakesTheVariableThatTheProcessSees(t *testing.T) {
	w := stripped(t, deployment(env(1, "STAKATER_C_CONFIGMAP", hashA), env(1, "STAKATER_C_CONFIGMAP", hashB)))
	if got, _ := strategy.EnvVars.Current(w, cm("c")); got != hashB {
		t.Errorf("Current = %q, want the last of two", got)
	}
}

func TestWorkloadWithoutContainers(t *testing.T) {
	w := stripped(t, deployment(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers = nil }))
	for _, s := range strategy.All {
		if ops, err := s.Patch(w, []strategy.Mark{{Config: cm("c"), Value: hashA, At: changed}}); !errors.Is(err, strategy.ErrNoContainer) {
			t.Errorf("%s: Patch = %v, %v; want ErrNoContainer", s.Name, ops, err)
		}
		if got, found := s.Current(w, cm("c")); found {
			t.Errorf("%s: Current = %q", s.Name, got)
		}
	}
}

func TestReferenceOutsideContainersIsCarriedByTheFirst(t *testing.T) {
	w := stripped(t, deployment(func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
	}))
	ops, err := strategy.EnvVars.Patch(w, []strategy.Mark{{Config: sec("pull"), Value: hashA, At: changed}})
	if err != nil || len(ops) != 1 || ops[0].Path != "/spec/template/spec/containers/0/env" {
		t.Errorf("Patch = %v, %v", ops, err)
	}
}

func TestNamed(t *testing.T) {
	for _, name := range []string{"env-vars", "annotations", "restart"} {
		if s, ok := strategy.Named(name); !ok || s.Name != name || s.Current == nil || s.Patch == nil {
			t.Errorf("Named(%q) = %+v, %v", name, s, ok)
		}
	}
	if s, ok := strategy.Named(""); ok {
		t.Errorf("Named of nothing = %+v", s)
	}
}
