package dialect_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// TestCollaborneState: the tool's keys, and only what looks like its hashes.
func TestCollaborneState(t *testing.T) {
	if dialect.Collaborne(dialect.CollaborneOptions{}).State != nil {
		t.Error("there is a state although nobody has named it")
	}
	state := dialect.Collaborne(dialect.CollaborneOptions{State: "reloader-state"}).State
	for want, c := range map[string]reloader.Config{"v1.ConfigMap_my-app.conf": cm("my-app.conf"), "v1.Secret_foo": sec("foo")} {
		if got := state.Key(c); got != want {
			t.Errorf("the key of %s is %s, want %s", c, got, want)
		}
	}
	const hash = "10cf73d13b980e22c78ecdc13f556962f871d697"
	got := state.Read(configMap(map[string]string{
		"v1.ConfigMap_a": hash, "v1.ConfigMap_b": "short", "v1.ConfigMap_c": strings.ToUpper(hash), "v1.Secret_d": hash + "0",
	}))
	if diff := cmp.Diff(map[string]string{"v1.ConfigMap_a": hash}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// FuzzState checks that whatever stands in the ConfigMap of a state, nothing but hashes is taken from it.
func FuzzState(f *testing.F) {
	f.Add("v1.ConfigMap_a", "10cf73d13b980e22c78ecdc13f556962f871d697")
	f.Add("x", "hunter2\n")
	state := dialect.Collaborne(dialect.CollaborneOptions{State: "reloader-state"}).State
	f.Fuzz(func(t *testing.T, key, value string) {
		for _, mark := range state.Read(configMap(map[string]string{key: value})) {
			if len(mark) != 40 || strings.Trim(mark, "0123456789abcdef") != "" {
				t.Errorf("%q is taken for a mark", mark)
			}
		}
	})
}

// TestCollaborneAlternatives: another annotation is read where the tool's own for that kind of config is absent or empty, and not beside it.
func TestCollaborneAlternatives(t *testing.T) {
	const (
		own         = "reloader.k8s.collaborne.com/configmap"
		ownSecret   = "reloader.k8s.collaborne.com/secret"
		alternative = "configmap.reloader.stakater.com/reload"
	)
	d := dialect.Collaborne(dialect.CollaborneOptions{ConfigMap: alternative})
	for name, c := range map[string]struct {
		said annotations
		want []reloader.Config
	}{
		"own alone":          {annotations{own: "a"}, []reloader.Config{cm("a")}},
		"alternative alone":  {annotations{alternative: " b , c"}, []reloader.Config{cm("b"), cm("c")}},
		"both":               {annotations{own: "a", alternative: "b"}, []reloader.Config{cm("a")}},
		"own is empty":       {annotations{own: "", alternative: "b"}, []reloader.Config{cm("b")}},
		"of another kind":    {annotations{ownSecret: "s", alternative: "b"}, []reloader.Config{cm("b"), sec("s")}},
		"neither":            {annotations{"x": "y"}, nil},
		"no such for Secret": {annotations{"secret.reloader.stakater.com/reload": "s"}, nil},
	} {
		interest, ok := d.Interest(app(c.said, nil))
		if diff := cmp.Diff(c.want, interest.Exact); ok != (c.want != nil) || diff != "" {
			t.Errorf("%s: opted in %v (-want +got):\n%s", name, ok, diff)
		}
		if got := d.Decide(app(c.said, nil), dialect.ConfigMeta{Config: cm("b")}); got.Reload != interest.Wants(cm("b")) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if !d.KeepsAnnotation(alternative) {
		t.Error("the alternative is stripped")
	}
}

// TestSAPOfVersions: the mark is that of the tool, and one of digests proves as well that nothing was missed.
func TestSAPOfVersions(t *testing.T) {
	w := app(annotations{"pod-reloader.cs.sap.com/configmaps": "cm"}, nil)
	parts := map[reloader.Config]dialect.Part{cm("cm"): {UID: "1111-uid", ResourceVersion: "42", Sum: "abc"}}
	byVersion, byDigest := dialect.SAPOfVersions().Joint.Values(w, parts), dialect.SAP().Joint.Values(w, parts)
	if byVersion[0] != "224d73307e8ac808e6ccaa76fb917ef2d32602575c9d7b5bfa07df9ebe881f7c" || byVersion[len(byVersion)-1] != byDigest[0] || len(byVersion) != len(byDigest) {
		t.Errorf("by version %v, by digest %v", byVersion, byDigest)
	}
}

// TestWaveGoes: what pods do without may go, and what a list names is always such.
func TestWaveGoes(t *testing.T) {
	d := dialect.Wave()
	w := waved("extra, cm")
	w.Template.References[cm("maybe")] = &workload.Reference{Optional: true}
	for c, want := range map[reloader.Config]bool{cm("maybe"): true, cm("extra"): true, cm("cm"): false, sec("s"): false, cm("unknown"): false} {
		if got := d.Goes(w, c); got != want {
			t.Errorf("%s may go: %v", c, got)
		}
	}
}
