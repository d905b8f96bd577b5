package mark_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

const (
	sha256A = "b8ec6ae431c4666f7c14262382289398c4cbf719961a54033d5b6496d51022fd"
	fabricA = "AQLMWa-DWdqd4i0439EvrV5iYvpCYwngonOlPCvJ2X0="
	fabricB = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU="
)

var changed = time.Date(2026, 11, 20, 10, 0, 1, 999, time.UTC)

func cm(name string) reloader.Config {
	return reloader.Config{Kind: reloader.ConfigMap, Namespace: "ns", Name: name}
}

func sec(name string) reloader.Config {
	return reloader.Config{Kind: reloader.Secret, Namespace: "ns", Name: name}
}

func entry(c reloader.Config, value string, age time.Duration) mark.Entry {
	return mark.Entry{Config: c, Value: value, At: changed.Add(-age)}
}

func gone(c reloader.Config, age time.Duration) mark.Entry {
	return mark.Entry{Config: c, At: changed.Add(-age), Gone: true}
}

type edits []func(*appsv1.Deployment)

// deployment has two containers: first has no variable, second has one and takes all of ConfigMap c.
func deployment(of ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	d.Namespace, d.Name, d.UID, d.ResourceVersion = "ns", "app", "u1", "4"
	d.Spec.Template.Spec.Containers = []corev1.Container{
		{Name: "first"},
		{Name: "second", Env: []corev1.EnvVar{{Name: "A", Value: "1"}}, EnvFrom: []corev1.EnvFromSource{
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}},
		}},
	}
	for _, edit := range of {
		edit(d)
	}
	return d
}

// behind adds a variable behind those that are there.
func behind(container int, name, value string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		c := &d.Spec.Template.Spec.Containers[container]
		c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value})
	}
}

func annotated(key, value string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		if d.Spec.Template.Annotations == nil {
			d.Spec.Template.Annotations = map[string]string{}
		}
		d.Spec.Template.Annotations[key] = value
	}
}

func without(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers = nil }

func stripped(t testing.TB, d *appsv1.Deployment) *workload.Workload {
	t.Helper()
	w, err := workload.Deployment.Strip(d, func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func encoded(t testing.TB, d *appsv1.Deployment) []byte {
	t.Helper()
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func rolled(t testing.TB, d *appsv1.Deployment, r mark.Roll) *appsv1.Deployment {
	t.Helper()
	data, err := mark.Apply(stripped(t, d), encoded(t, d), r)
	if err != nil {
		t.Fatal(err)
	}
	got := &appsv1.Deployment{}
	if err := json.Unmarshal(data, got); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestTools(t *testing.T) {
	from := func(c reloader.Config, hash, container string) func(*appsv1.Deployment) {
		return annotated(mark.LastReloadedFromKey, `{"type":"`+strings.ToUpper(string(c.Kind))+`","name":"`+c.Name+
			`","namespace":"ns","hash":"`+hash+`","containerRefs":["`+container+`"],"observedAt":1795168801}`)
	}
	fieldRef := func(d *appsv1.Deployment) {
		c := &d.Spec.Template.Spec.Containers[1]
		c.Env = append(c.Env, corev1.EnvVar{Name: "STAKATER_C_CONFIGMAP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}})
	}
	refersTo := func(names ...string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			for _, name := range names {
				d.Spec.Template.Spec.ImagePullSecrets = append(d.Spec.Template.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
			}
		}
	}
	ahead := func(d *appsv1.Deployment) { // where a merge puts what is new
		c := &d.Spec.Template.Spec.Containers[1]
		c.Env = slices.Insert(c.Env, 0, corev1.EnvVar{Name: "STAKATER_C_CONFIGMAP", Value: sum})
	}
	longest, tooLong := strings.Repeat("a", 43), strings.Repeat("a", 44)
	for name, c := range map[string]struct {
		reason    string
		tool      mark.Tool
		has, want edits
		of        []mark.Entry
	}{
		"variable outside containers":   {"a pull secret is carried by the first", mark.EnvVars, edits{refersTo("pull")}, edits{refersTo("pull"), behind(0, "STAKATER_PULL_SECRET", sum)}, []mark.Entry{entry(sec("pull"), sum, 0)}},
		"variable, replaced":            {"in place, so that the order of variables stays", mark.EnvVars, edits{behind(1, "STAKATER_C_CONFIGMAP", sum), behind(1, "Z", "9")}, edits{behind(1, "STAKATER_C_CONFIGMAP", other), behind(1, "Z", "9")}, []mark.Entry{entry(cm("c"), other, 0)}},
		"variable, from elsewhere":      {"the API server would refuse a value next to it", mark.EnvVars, edits{fieldRef}, edits{fieldRef}, []mark.Entry{entry(cm("c"), sum, 0)}},
		"variable in another container": {"only the container that uses the config counts", mark.EnvVars, edits{behind(0, "STAKATER_C_CONFIGMAP", sum)}, edits{behind(0, "STAKATER_C_CONFIGMAP", sum), ahead}, []mark.Entry{entry(cm("c"), sum, 0)}},
		"variable, shared":              {"the newest counts", mark.EnvVars, nil, edits{behind(0, "STAKATER_A_B_SECRET", other)}, []mark.Entry{entry(sec("a.b"), other, 0), entry(sec("a-b"), sum, time.Second)}},
		"variable, shared at one time":  {"the first by name counts", mark.EnvVars, nil, edits{behind(0, "STAKATER_A_B_SECRET", sum)}, []mark.Entry{entry(sec("a-b"), sum, 0), entry(sec("a.b"), other, 0)}},
		"variable without a hash":       {"content without a hash has no mark, and neither has that of another cluster", mark.EnvVars, nil, nil, []mark.Entry{entry(cm("c"), "", 0), entry(reloader.Config{Cluster: "east", Kind: reloader.ConfigMap, Namespace: "ns", Name: "c"}, sum, 0)}},
		"variable, gone":                {"the mark goes, and the others keep their order", mark.EnvVars, edits{behind(1, "STAKATER_C_CONFIGMAP", sum), behind(1, "Z", "9"), behind(0, "STAKATER_C_CONFIGMAP", sum)}, edits{behind(1, "Z", "9"), behind(0, "STAKATER_C_CONFIGMAP", sum)}, []mark.Entry{gone(cm("c"), 0)}},
		"variables, gone":               {"all of them", mark.EnvVars, edits{behind(0, "STAKATER_X_SECRET", sum), behind(0, "M", "1"), behind(0, "STAKATER_Y_SECRET", other)}, edits{behind(0, "M", "1")}, []mark.Entry{gone(sec("x"), 0), gone(sec("y"), 0)}},

		"annotation, current":           {"nothing is written, also if the time would differ", mark.Annotations, edits{from(cm("c"), sum, "second")}, edits{from(cm("c"), sum, "second")}, []mark.Entry{entry(cm("c"), sum, -time.Hour)}},
		"annotation, newest is current": {"the other one is still to be written", mark.Annotations, edits{from(cm("c"), sum, "second")}, edits{from(sec("s"), other, "first")}, []mark.Entry{entry(cm("c"), sum, -time.Hour), entry(sec("s"), other, 0)}},
		"annotation, gone":              {"the hash of nothing", mark.Annotations, edits{from(cm("c"), sum, "second")}, edits{from(cm("c"), mark.DeletedValue, "second")}, []mark.Entry{gone(cm("c"), 0)}},

		"sap":                    {"one annotation", dialect.SAP().Mark, nil, edits{annotated(dialect.SAPHashKey, sha256A)}, []mark.Entry{entry(cm("c"), sha256A, 0), entry(sec("s"), sha256A, 0)}},
		"wave, gone":             {"the hash is of what is left", dialect.Wave().Mark, nil, edits{annotated(dialect.WaveHashKey, sha256A)}, []mark.Entry{{Config: cm("c"), Value: sha256A, Gone: true}}},
		"collaborne":             {"in the first container, not in the one that uses it", dialect.Collaborne().Mark, nil, edits{behind(0, "_RELOADER_CONFIGMAP_MY_APP_CONF", sum)}, []mark.Entry{entry(cm("my-app.conf"), sum, 0)}},
		"collaborne, somewhere":  {"where it is", dialect.Collaborne().Mark, edits{behind(1, "_RELOADER_SECRET_C", sum)}, edits{behind(1, "_RELOADER_SECRET_C", other)}, []mark.Entry{entry(sec("c"), other, 0)}},
		"collaborne, gone":       {"the hash of nothing", dialect.Collaborne().Mark, edits{behind(0, "_RELOADER_SECRET_C", sum)}, edits{behind(0, "_RELOADER_SECRET_C", mark.DeletedValue)}, []mark.Entry{gone(sec("c"), 0)}},
		"fabric8, new container": {"gets it, too", dialect.Fabric8().Mark, edits{behind(1, "FABRIC8_C_CONFIGMAP", fabricA)}, edits{behind(1, "FABRIC8_C_CONFIGMAP", fabricB), behind(0, "FABRIC8_C_CONFIGMAP", fabricB)}, []mark.Entry{entry(cm("c"), fabricB, 0)}},
		"fabric8, own":           {"in one container is enough", dialect.Fabric8().Mark, edits{behind(1, "FABRIC8_C_CONFIGMAP", "hunter2")}, edits{behind(1, "FABRIC8_C_CONFIGMAP", "hunter2")}, []mark.Entry{entry(cm("c"), fabricA, 0)}},
		"trigger":                {"by kind and name", dialect.Trigger().Mark, edits{annotated("a", "b")}, edits{annotated("a", "b"), annotated("trigger.k8s.io/secret-c-last-hash", sum), annotated("trigger.k8s.io/configMap-d-last-hash", other)}, []mark.Entry{entry(sec("c"), sum, 0), entry(cm("d"), other, 0)}},
		"trigger, long name":     {"the longest key, and none that is too long", dialect.Trigger().Mark, nil, edits{annotated("trigger.k8s.io/configMap-"+longest+"-last-hash", sum)}, []mark.Entry{entry(cm(longest), sum, 0), entry(cm(tooLong), sum, 0)}},
	} {
		t.Run(name, func(t *testing.T) {
			d, want := deployment(c.has...), deployment(append(c.want, annotated(mark.HashKey, "h"))...)
			marks, err := c.tool.Marks(stripped(t, d), c.of)
			if err != nil {
				t.Fatal(err)
			}
			got := rolled(t, d, mark.Roll{Hash: "h", Marks: marks})
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			again, err := c.tool.Marks(stripped(t, got), c.of)
			if len(c.of) == 1 && (err != nil || !cmp.Equal(got, rolled(t, got, mark.Roll{Hash: "h", Marks: again}))) {
				t.Errorf("written again it is not the same: %v, %v", again, err)
			}
		})
	}
}
