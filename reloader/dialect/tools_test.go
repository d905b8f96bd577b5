package dialect_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/workload"
)

func configMap(data map[string]string) digest.Content {
	o := &corev1.ConfigMap{Data: data}
	o.Namespace, o.Name = "ns", "cm"
	return digest.OfConfigMap(o)
}

func secret(data map[string]string) digest.Content {
	o := &corev1.Secret{Data: map[string][]byte{}}
	o.Namespace, o.Name = "ns", "s"
	for k, v := range data {
		o.Data[k] = []byte(v)
	}
	return digest.OfSecret(o)
}

// TestHashesOfTools has what each tool was computed to write for the same content.
func TestHashesOfTools(t *testing.T) {
	ab, stakater := map[string]string{"a": "1", "b": "2"}, dialect.Stakater(dialect.StakaterOptions{})
	binary := digest.OfConfigMap(&corev1.ConfigMap{Data: ab, BinaryData: map[string][]byte{"c": {1}}})
	for name, c := range map[string]struct {
		reason  string
		dialect *dialect.Dialect
		content digest.Content
		want    string
	}{
		"collaborne":             {"a=1b=2", dialect.Collaborne(), configMap(ab), "10cf73d13b980e22c78ecdc13f556962f871d697"},
		"collaborne secret":      {"in base64", dialect.Collaborne(), secret(ab), "5e3b35ed8ef1545a9283b35a42e0ae072cb08714"},
		"collaborne numbers":     {"9=x10=x01=xa=x: whole numbers by size", dialect.Collaborne(), configMap(map[string]string{"10": "x", "9": "x", "a": "x", "01": "x"}), "493d2814952f4ecda4d9b5594f670447b65f903c"},
		"stakater":               {"a=1;b=2", stakater, configMap(ab), "f83e99e324ba68ccc373a58ef1eb42f8ab88646a"},
		"stakater one object":    {"id=version", stakater, digest.OfProviderClass("ns", "vault", map[string]string{"db": "v2"}), "4eef9e88acd4dd16902b700f2d24f9692658b0a6"},
		"stakater objects":       {"sorted as texts, the class's name among them", stakater, digest.OfProviderClass("ns", "vault", map[string]string{"db": "v2", "api/key": "v7", "Zone": "1"}), "c48ffee7d541a1b4a7161c8308a62961e276d0dd"},
		"stakater collision":     {"the tool's input is not injective, and its mark must be copied as it is", stakater, digest.OfConfigMap(&corev1.ConfigMap{Data: map[string]string{"a": "1;b=3"}}), "124b8637e8fbd0a8f4b54eab4887556e41cdaa4d"},
		"stakater binary":        {"in base64, so that Mg== is hashed for 2", stakater, digest.OfConfigMap(&corev1.ConfigMap{BinaryData: map[string][]byte{"x": []byte("2")}}), "80d6dbcadfacbc689bb719f14ce9dc07cf69a1a8"},
		"stakater secret's type": {"is no content", stakater, digest.OfSecret(&corev1.Secret{Type: "Opaque", Data: map[string][]byte{"x": []byte("2")}}), "31852fecfab75f296caef2c8cf330de833eda546"},
		"fabric8":                {"a=1;b=2", dialect.Fabric8(), configMap(ab), "AQLMWa-DWdqd4i0439EvrV5iYvpCYwngonOlPCvJ2X0="},
		"fabric8 binary":         {"left out", dialect.Fabric8(), binary, "AQLMWa-DWdqd4i0439EvrV5iYvpCYwngonOlPCvJ2X0="},
		"trigger":                {"ab12", dialect.Trigger(), configMap(ab), "8252bf8992ff56621589ea3a3c32658172b1651a"},
		"trigger, nothing":       {"the tool has no hash", dialect.Trigger(), configMap(nil), ""},
	} {
		if got := c.dialect.MarkValue(c.content); got != c.want {
			t.Errorf("%s: hash %q, want %q: %s", name, got, c.want, c.reason)
		}
	}
}

func TestSAPHash(t *testing.T) {
	const own = "224d73307e8ac808e6ccaa76fb917ef2d32602575c9d7b5bfa07df9ebe881f7c"
	part := dialect.Part{UID: "1111-uid", ResourceVersion: "42", Sum: "abc"}
	values := func(list string, p dialect.Part) []string {
		w := app(annotations{"pod-reloader.cs.sap.com/configmaps": list}, nil)
		return dialect.SAP().Joint.Values(w, map[reloader.Config]dialect.Part{cm("cm"): p})
	}
	got := values("cm", part)
	if len(got[0]) != 64 || got[0] == own {
		t.Errorf("the mark of digests is %s", got[0])
	}
	if got[1] != own || got[2] != own {
		t.Errorf("the mark of versions is %s and %s, want %s", got[1], got[2], own)
	}
	spaced := values(" cm", part)
	if spaced[0] != got[0] || spaced[1] != own || spaced[2] == own {
		t.Errorf("a space makes %v of %v: it counts in what the tool hashed alone", spaced, got)
	}
	part.ResourceVersion = "43"
	if again := values("cm", part); again[0] != got[0] || again[1] == got[1] {
		t.Errorf("another version with the same content makes %v of %v", again, got)
	}
	part.Sum = "abd"
	if again := values("cm", part); again[0] == got[0] {
		t.Error("other content has the same mark")
	}
	if gone := values("cm", dialect.Part{}); gone[0] == got[0] || gone[0] != gone[1] {
		t.Errorf("absence makes %v of %v", gone, got)
	}
	if none := values("", part); none[1] != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Errorf("an empty list has %s", none[1])
	}
}

// waved is a workload that uses ConfigMap cm by key, and Secret s in an init container alone.
func waved(extra string, uses ...reloader.Use) *workload.Workload {
	w := app(annotations{"wave.pusher.com/update-on-config-change": "true", "wave.pusher.com/extra-configmaps": extra}, nil)
	w.Template.Containers = []workload.Container{{Name: "main"}}
	w.Template.References = reloader.ByConfigOf(map[reloader.Config]*workload.Reference{
		cm("cm"): {Uses: uses}, sec("s"): {Uses: []reloader.Use{{How: workload.UseEnv, Container: "init", Keys: []string{"a"}}}},
	})
	return w
}

func TestWaveHash(t *testing.T) {
	env := func(container string, keys ...string) reloader.Use {
		return reloader.Use{How: workload.UseEnv, Container: container, Keys: keys}
	}
	const (
		whole = "b8ec6ae431c4666f7c14262382289398c4cbf719961a54033d5b6496d51022fd"
		// onlyA is of {"configMaps":{"cm":{"a":"MQ=="}},"secrets":{}}, and none of the same with nothing in it.
		onlyA = "fc1a5d8ec550a52fbd02a4bb260f94396f662bee21787fb516531c0046a9fdee"
		none  = "100444e91862dd77d7ebe29f050c1e9a7f357c771e1a7b7650aae27e6a3a031d"
	)
	parts := map[reloader.Config]dialect.Part{cm("cm"): {Content: configMap(map[string]string{"a": "1", "b": "2"})}, sec("s"): {Content: secret(map[string]string{"a": "1"})}}
	for name, c := range map[string]struct {
		reason string
		w      *workload.Workload
		want   string
	}{
		"mounted":         {"items of a plain volume do not count", waved("", reloader.Use{How: workload.UseVolume, Container: "main", Keys: []string{"a"}}), whole},
		"named":           {"all of it, with spaces around the name", waved(" cm "), whole},
		"environment":     {"all of it", waved("", reloader.Use{How: workload.UseEnvFrom, Container: "main"}), whole},
		"one variable":    {"one key", waved("", env("main", "a")), onlyA},
		"projected":       {"its items", waved("", reloader.Use{How: workload.UseProjectedVolume, Keys: []string{"a"}}), onlyA},
		"init containers": {"are not looked at", waved("", env("init", "a")), none},
	} {
		if got := dialect.Wave().Joint.Values(c.w, parts); len(got) == 0 || got[0] != c.want {
			t.Errorf("%s: %v, want %s: %s", name, got, c.want, c.reason)
		}
	}
}

// TestWaveHashOfNamesakes: configs of one name in several namespaces have one mark, and always the same.
func TestWaveHashOfNamesakes(t *testing.T) {
	w := waved("cm, a/cm, z/cm")
	parts := map[reloader.Config]dialect.Part{cm("cm"): {Content: configMap(map[string]string{"k": "own"})}}
	alone := dialect.Wave().Joint.Values(w, parts)[0]
	for _, namespace := range []string{"a", "z"} {
		theirs := reloader.Config{Kind: reloader.ConfigMap, Namespace: namespace, Name: "cm"}
		parts[theirs] = dialect.Part{Content: configMap(map[string]string{"k": namespace})}
	}
	for range 50 {
		if got := dialect.Wave().Joint.Values(w, parts)[0]; got != alone {
			t.Fatalf("the mark is %s, and %s of the config of its own namespace", got, alone)
		}
	}
}

func TestChoose(t *testing.T) {
	all := dialect.All(dialect.StakaterOptions{})
	got, err := all.Choose([]string{"wave", "stakater", "wave"})
	if diff := cmp.Diff([]string{"stakater", "wave"}, got.Names()); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if got, err := all.Choose(nil); err != nil || len(got) != len(all) {
		t.Errorf("without names %v, %v", got.Names(), err)
	}
	for _, names := range [][]string{{"stakater", "keel"}, {""}} {
		if _, err := all.Choose(names); err == nil {
			t.Errorf("%q is accepted", names)
		}
	}
}

// TestListsOfOneNamespace: only Reroll's lists and Wave's can name a config of another namespace. In the others a slash is a fault.
func TestListsOfOneNamespace(t *testing.T) {
	theirs := reloader.Config{Kind: reloader.ConfigMap, Namespace: "other", Name: "c"}
	for key, across := range map[string]bool{
		"pod-reloader.cs.sap.com/configmaps":     false,
		"reloader.k8s.collaborne.com/configmap":  false,
		"configmap.fabric8.io/update-on-change":  false,
		"trigger.k8s.io/triggering-configMaps":   false,
		"configmap.reloader.stakater.com/reload": false,
		"wave.pusher.com/extra-configmaps":       true,
		"reroll.dev/configmaps":                  true,
	} {
		set := dialect.All(dialect.StakaterOptions{})
		w := app(annotations{key: "other/c, own", "wave.pusher.com/update-on-config-change": "true"}, nil)
		plan := set.Compile(w)
		if got := slices.Contains(plan.Names, theirs); got != across {
			t.Errorf("%s: %v is asked for: %v", key, theirs, got)
		}
		shared := dialect.ConfigMeta{Config: theirs, Annotations: annotations{"reroll.dev/share-with": "*"}}
		if got := plan.Decide(shared); got.Reload != across {
			t.Errorf("%s: %+v", key, got)
		}
		if problem := slices.ContainsFunc(plan.Problems, func(p string) bool { return strings.Contains(p, "other/c") }); problem != (!across && !strings.Contains(key, "stakater")) {
			t.Errorf("%s: problems %q", key, plan.Problems)
		}
	}
}
