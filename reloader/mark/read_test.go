package mark_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// all are the tools by their names in flags and records.
var all = []string{"env-vars", "annotations", "sap", "wave", "collaborne", "fabric8", "trigger", "reroll"}

func TestReadFindsWhatIsWritten(t *testing.T) {
	if tool, ok := mark.Named(""); ok {
		t.Errorf("Named of nothing is %s", tool.Name)
	}
	var together []mark.Mark
	for _, name := range all {
		tool, ok := mark.Named(name)
		if !ok || tool.Name != name {
			t.Fatalf("there is no tool %s", name)
		}
		for _, c := range []reloader.Config{cm("c"), cm("named.only")} {
			d := deployment()
			if value, found := tool.Read(stripped(t, d), c); found || value != "" {
				t.Errorf("%s: an unmarked workload carries %q for %s", name, value, c)
			}
			marks, err := tool.Marks(stripped(t, d), []mark.Entry{entry(c, sum, 0)})
			if err != nil {
				t.Fatal(err)
			}
			if c == cm("c") {
				together = append(together, marks...)
			}
			w := stripped(t, rolled(t, d, mark.Roll{Hash: "h", Marks: marks}))
			says := name != "reroll" // its value says nothing about one config
			if value, found := tool.Read(w, c); found != says || says && value != sum {
				t.Errorf("%s: the mark of %s is read as %q, %v", name, c, value, found)
			}
			if _, found := tool.Read(w, cm("else")); found && name != "sap" && name != "wave" {
				t.Errorf("%s: another config has the mark of %s", name, c)
			}
		}
		marks, err := tool.Marks(stripped(t, deployment(without)), []mark.Entry{entry(cm("c"), sum, 0)})
		if err == nil {
			_, err = mark.Patch(stripped(t, deployment(without)), mark.Roll{Hash: "h", Marks: marks})
		}
		if !errors.Is(err, mark.ErrNoContainer) {
			t.Errorf("%s, a workload without containers: %v", name, err)
		}
	}
	w := stripped(t, rolled(t, deployment(), mark.Roll{Hash: "h", Marks: together}))
	for _, name := range all[:len(all)-1] {
		tool, _ := mark.Named(name)
		if value, _ := tool.Read(w, cm("c")); value != sum {
			t.Errorf("%s: of the marks of all tools it reads %q", name, value)
		}
	}
}

func TestReadVariable(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		tool   mark.Tool
		has    edits
		want   string
	}{
		"twice":              {"the process sees the last", mark.EnvVars, edits{behind(1, "STAKATER_C_CONFIGMAP", sum), behind(1, "STAKATER_C_CONFIGMAP", other)}, other},
		"own":                {"what is not a hash may be content", mark.EnvVars, edits{behind(1, "STAKATER_C_CONFIGMAP", "hunter2")}, ""},
		"own is last":        {"the process sees somebody's own", mark.EnvVars, edits{behind(1, "STAKATER_C_CONFIGMAP", sum), behind(1, "STAKATER_C_CONFIGMAP", "hunter2")}, ""},
		"another container":  {"only the container that uses the config counts", mark.EnvVars, edits{behind(0, "STAKATER_C_CONFIGMAP", sum)}, ""},
		"collaborne":         {"wherever it is", mark.Collaborne, edits{behind(1, "_RELOADER_CONFIGMAP_C", sum)}, sum},
		"fabric8 in the 2nd": {"the first may be new", mark.Fabric8, edits{behind(1, "FABRIC8_C_CONFIGMAP", fabricA)}, fabricA},
		"fabric8 and own":    {"the container with a mark counts", mark.Fabric8, edits{behind(0, "FABRIC8_C_CONFIGMAP", "hunter2"), behind(1, "FABRIC8_C_CONFIGMAP", fabricA)}, fabricA},
	} {
		if got, found := c.tool.Read(stripped(t, deployment(c.has...)), cm("c")); got != c.want || found != (c.want != "") {
			t.Errorf("%s: %q, %v, want %q: %s", name, got, found, c.want, c.reason)
		}
	}
}

func TestReadAnnotation(t *testing.T) {
	for name, c := range map[string]struct {
		reason, value, want string
		found               bool
	}{
		"v1":              {"as v1 writes it", `{"type":"CONFIGMAP","name":"c","namespace":"ns","hash":"` + sum + `","containerRefs":["x"],"observedAt":1}`, sum, true},
		"v2":              {"as v2 writes it", `{"kind":"configmap","name":"c","namespace":"ns","hash":"` + sum + `","containers":["x"],"reloadedAt":"2026-01-01T00:00:00Z"}`, sum, true},
		"other name":      {"the one place may belong to another config", `{"type":"CONFIGMAP","name":"d","namespace":"ns","hash":"` + sum + `"}`, "", false},
		"other namespace": {"copied from elsewhere", `{"type":"CONFIGMAP","name":"c","namespace":"ns2","hash":"` + sum + `"}`, "", false},
		"other kind":      {"a secret of that name", `{"type":"SECRET","name":"c","namespace":"ns","hash":"` + sum + `"}`, "", false},
		"no JSON":         {"somebody wrote it by hand", `yes`, "", false},
		"other JSON":      {"the hash is a string", `{"type":"CONFIGMAP","name":"c","namespace":"ns","hash":7}`, "", false},
		"no hash":         {"what is not a hash may be content, and is not shown", `{"type":"CONFIGMAP","name":"c","namespace":"ns","hash":"hunter2"}`, "", true},
		"too long":        {"not parsed", `{"type":"CONFIGMAP","name":"c","namespace":"ns","hash":"` + sum + `","x":"` + strings.Repeat("x", 9000) + `"}`, "", false},
	} {
		w := stripped(t, deployment(annotated(mark.LastReloadedFromKey, c.value)))
		if got, found := mark.Annotations.Read(w, cm("c")); got != c.want || found != c.found {
			t.Errorf("%s: %q, %v, want %q, %v: %s", name, got, found, c.want, c.found, c.reason)
		}
	}
}

func TestShares(t *testing.T) {
	w := stripped(t, deployment())
	for _, c := range []struct {
		tool mark.Tool
		a, b reloader.Config
		want bool
	}{
		{mark.EnvVars, sec("a.b"), sec("a-b"), true},
		{mark.EnvVars, sec("a.b"), cm("a-b"), false},
		{mark.EnvVars, cm("c"), cm(".c"), false}, // the first does not use c
		{mark.Collaborne, cm("c"), sec("c"), false},
		{mark.Collaborne, cm("a.b"), cm("a-b"), true},
		{mark.Fabric8, cm("c"), cm(".c"), true},
		{mark.Trigger, cm("a.b"), cm("a-b"), false},
		{mark.Annotations, cm("a"), cm("b"), false},
		{mark.SAP, cm("a"), cm("b"), false},
		{mark.Own, cm("a"), cm("b"), true},
	} {
		if got := c.tool.Shares(w, c.a, c.b); got != c.want {
			t.Errorf("%s: %s and %s share a place: %v", c.tool.Name, c.a, c.b, got)
		}
	}
}

// FuzzReadAnnotation: whatever is in the annotation, reading it neither panics nor shows what is not a hash.
func FuzzReadAnnotation(f *testing.F) {
	f.Add(`{"type":"CONFIGMAP","name":"c","namespace":"ns","hash":"abc"}`)
	f.Add(`{"kind":"configmap","name":"c","namespace":"ns","hash":"hunter2"}`)
	f.Add(`[[[[`)
	f.Fuzz(func(t *testing.T, value string) {
		w := stripped(t, deployment(annotated(mark.LastReloadedFromKey, value)))
		if got, _ := mark.Annotations.Read(w, cm("c")); got != workload.MarkValue(got) {
			t.Errorf("it reads %q", got)
		}
	})
}

// FuzzTools has every tool mark a workload that has anything in the places of marks. The patch fits, and the mark is there afterwards, unless
// the place is somebody's own.
func FuzzTools(f *testing.F) {
	keys := []string{mark.LastReloadedFromKey, mark.SAPHashKey, mark.WaveHashKey, mark.HashKey, "trigger.k8s.io/configMap-c-last-hash"}
	variables := []string{"STAKATER_C_CONFIGMAP", "_RELOADER_CONFIGMAP_C", "FABRIC8_C_CONFIGMAP", "STAKATER_X_SECRET", mark.HashEnv}
	for i := range uint8(8) {
		f.Add(i, i, "0a", `{"type":"CONFIGMAP","name":"c","namespace":"ns","hash":"0a"}`)
		f.Add(i, i+1, "hunter2", `{"configmap/ns/c":"21f76dfbfe6dfe21"}`)
	}
	f.Fuzz(func(t *testing.T, which, variable uint8, value, text string) {
		d := deployment(annotated(keys[int(which)%len(keys)], text), behind(int(which)%2, variables[int(variable)%len(variables)], value))
		for _, name := range all {
			tool, _ := mark.Named(name)
			marks, err := tool.Marks(stripped(t, d), []mark.Entry{entry(cm("c"), "00aa11", 0)})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got := rolled(t, d, mark.Roll{Hash: "h", Marks: marks})
			if value, _ := tool.Read(stripped(t, got), cm("c")); value != "00aa11" && len(marks) > 0 && name != "reroll" {
				t.Errorf("%s: %v leaves the mark %q", name, marks, value)
			}
		}
	})
}
