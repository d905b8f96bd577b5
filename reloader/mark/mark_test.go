package mark_test

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

const (
	sum   = "124b8637e8fbd0a8f4b54eab4887556e41cdaa4d" // Stakater's hash of {a: 1, b: 3}
	other = "31852fecfab75f296caef2c8cf330de833eda546" // and of {x: 2}
)

// web has marks in its own order, a variable of a mark's name with somebody's own value, and one with a valueFrom.
const web = `{"metadata":{"name":"web","namespace":"shop","uid":"u","resourceVersion":"7","annotations":{"team":"shop"}},
"spec":{"strategy":{"canary":{"large":9007199254740993}},"template":{"metadata":{"annotations":{"wave.pusher.com/config-hash":"00"}},"spec":{"containers":[
{"name":"main","image":"i","env":[{"name":"STAKATER_Z_CONFIGMAP","value":"` + other + `"},{"name":"URL","value":"$(HOST)"},{"name":"STAKATER_A_CONFIGMAP","value":"` + other + `"},{"name":"STAKATER_OWN_SECRET","value":"Hello"}]},
{"name":"aside","image":"i","env":[{"name":"STAKATER_FROM_CONFIGMAP","valueFrom":{"configMapKeyRef":{"name":"c","key":"k"}}}]}]}}}}`

var cronJob = strings.NewReplacer(`"spec":{"strategy"`, `"spec":{"jobTemplate":{"spec":{"strategy"`, `]}]}}}}`, `]}]}}}}}}`).Replace(web)

// read returns an object as a Rollout, which is loosely read outside of its template, or as a CronJob.
func read(t *testing.T, object string) *workload.Workload {
	t.Helper()
	kind := workload.Rollout
	if strings.Contains(object, "jobTemplate\":") {
		kind = workload.CronJob
	}
	w, err := kind.Strip(json.RawMessage(object), func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func env(name, value string, containers ...string) mark.Mark {
	return mark.Mark{Place: mark.Place{Env: name, Containers: containers}, Value: value}
}

func note(key, value string) mark.Mark {
	return mark.Mark{Place: mark.Place{Annotation: key}, Value: value}
}

func removed(m mark.Mark) mark.Mark { return mark.Mark{Place: m.Place, Remove: true} }

func TestPatch(t *testing.T) {
	const meta, inTemplate = `{"metadata":{"resourceVersion":"7","uid":"u"},"spec":`, `{"template":{"spec":{"containers":[`
	for name, c := range map[string]struct {
		roll mark.Roll
		want string
	}{
		"a variable, the hash, and the reason": {
			mark.Roll{Hash: "h", Marks: []mark.Mark{env("STAKATER_NEW_SECRET", sum, "main")}, Annotations: map[string]any{"reroll.dev/applied": "x", "gone": nil}},
			`{"metadata":{"annotations":{"gone":null,"reroll.dev/applied":"x"},"resourceVersion":"7","uid":"u"},"spec":{"template":{"metadata":{"annotations":{"reroll.dev/config-hash":"h"}},` +
				`"spec":{"containers":[{"env":[{"name":"STAKATER_NEW_SECRET","value":"` + sum + `"}],"name":"main"}]}}}}`,
		},
		"all containers, in their order": {
			mark.Roll{Marks: []mark.Mark{env("FABRIC8_A_CONFIGMAP", "v")}},
			meta + inTemplate + `{"env":[{"name":"FABRIC8_A_CONFIGMAP","value":"v"}],"name":"main"},{"env":[{"name":"FABRIC8_A_CONFIGMAP","value":"v"}],"name":"aside"}]}}}}`,
		},
		"new variables first, then present ones in their order": {
			mark.Roll{Hash: "h", Marks: []mark.Mark{env("STAKATER_A_CONFIGMAP", "1", "main"), env("STAKATER_Z_CONFIGMAP", "1", "main"), env(mark.HashEnv, "", "main")}},
			meta + `{"template":{"metadata":{"annotations":{"reroll.dev/config-hash":"h"}},"spec":{"containers":[{"env":[{"name":"REROLL_CONFIG_HASH","value":"h"},{"name":"STAKATER_Z_CONFIGMAP","value":"1"},{"name":"STAKATER_A_CONFIGMAP","value":"1"}],"name":"main"}]}}}}`,
		},
		"removal of marks alone": {
			mark.Roll{Marks: []mark.Mark{removed(env("STAKATER_A_CONFIGMAP", "")), removed(env("STAKATER_OWN_SECRET", "")), removed(env("STAKATER_FROM_CONFIGMAP", "")), removed(env("URL", ""))}},
			meta + inTemplate + `{"env":[{"$patch":"delete","name":"STAKATER_A_CONFIGMAP"}],"name":"main"}]}}}}`,
		},
		"removal of an annotation": {
			mark.Roll{Marks: []mark.Mark{removed(note("wave.pusher.com/config-hash", ""))}},
			meta + `{"template":{"metadata":{"annotations":{"wave.pusher.com/config-hash":null}}}}}`,
		},
	} {
		if got, err := mark.Patch(read(t, web), c.roll); err != nil || string(got) != c.want {
			t.Errorf("%s:\n%s, %v, want\n%s", name, got, err, c.want)
		}
	}
	want := meta + `{"jobTemplate":{"spec":{"template":{"metadata":{"annotations":{"reroll.dev/config-hash":"h"}}}}}}}`
	if got, err := mark.Patch(read(t, cronJob), mark.Roll{Hash: "h"}); err != nil || string(got) != want {
		t.Errorf("CronJob:\n%s, %v, want\n%s", got, err, want)
	}
}

func TestPatchRefuses(t *testing.T) {
	for want, c := range map[string]struct {
		object string
		roll   mark.Roll
	}{
		"no UID":                         {strings.Replace(web, `"uid":"u",`, "", 1), mark.Roll{Hash: "h"}},
		"or resource version":            {strings.Replace(web, `"resourceVersion":"7",`, "", 1), mark.Roll{Hash: "h"}},
		"has no container":               {`{"metadata":{"uid":"u","resourceVersion":"7"}}`, mark.Roll{Hash: "h"}},
		`no container is named "absent"`: {web, mark.Roll{Marks: []mark.Mark{env("A", "v", "absent")}}},
	} {
		if got, err := mark.Patch(read(t, c.object), c.roll); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s, %v, want an error with %q", got, err, want)
		}
	}
}

// TestVectors: names as the tools' own programs write them.
func TestVectors(t *testing.T) {
	for got, want := range map[string]string{
		"STAKATER_" + mark.Variable("my.app_config") + "_CONFIGMAP":  "STAKATER_MY_APP_CONFIG_CONFIGMAP",
		"STAKATER_" + mark.Variable("-a..b-") + "_SECRET":            "STAKATER_A_B__SECRET",
		"STAKATER_" + mark.Variable("1.2") + "_CONFIGMAP":            "STAKATER_1_2_CONFIGMAP",
		"STAKATER_" + mark.Variable("-") + "_CONFIGMAP":              "STAKATER__CONFIGMAP",
		"FABRIC8_" + mark.Variable("app.conf") + "_CONFIGMAP":        "FABRIC8_APP_CONF_CONFIGMAP",
		"_RELOADER_" + mark.Variable("configmap_my-app.conf"):        "_RELOADER_CONFIGMAP_MY_APP_CONF",
		mark.Hash(2, map[reloader.Config]string{app: "d", key: "e"}): "1f728dbbb6a28cd2d95bb2206eb84ff5",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

var (
	app = reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "app"}
	key = reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: "key"}
)

func TestApply(t *testing.T) {
	roll := mark.Roll{Hash: "h", Marks: []mark.Mark{env("STAKATER_Z_CONFIGMAP", sum, "main"), env("STAKATER_NEW_CONFIGMAP", sum, "main"), removed(env("STAKATER_A_CONFIGMAP", ""))}}
	for _, object := range []string{web, cronJob} {
		got, err := mark.Apply(read(t, object), []byte(object), roll)
		if err != nil {
			t.Fatal(err)
		}
		// What the patch does not name is as it was, a number of 54 bits among it.
		want := strings.NewReplacer(
			`"env":[{"name":"STAKATER_Z_CONFIGMAP","value":"`+other, `"env":[{"name":"STAKATER_NEW_CONFIGMAP","value":"`+sum+`"},{"name":"STAKATER_Z_CONFIGMAP","value":"`+sum,
			`{"name":"STAKATER_A_CONFIGMAP","value":"`+other+`"},`, "", `{"wave`, `{"reroll.dev/config-hash":"h","wave`,
		).Replace(object)
		var is, expected any
		if errors.Join(json.Unmarshal(got, &is), json.Unmarshal([]byte(want), &expected)) != nil || !reflect.DeepEqual(is, expected) || !strings.Contains(string(got), "9007199254740993") {
			t.Errorf("%s, want\n%s", got, want)
		}
		taken := mark.Roll{Marks: []mark.Mark{env("STAKATER_FROM_CONFIGMAP", sum, "aside")}}
		if got, err := mark.Apply(read(t, object), []byte(object), taken); !errors.Is(err, mark.ErrTaken) {
			t.Errorf("a variable with a valueFrom: %s, %v", got, err)
		}
		free := mark.Roll{Marks: []mark.Mark{env("STAKATER_FROM_CONFIGMAP", sum, "main"), removed(env("STAKATER_FROM_CONFIGMAP", "", "aside"))}}
		if _, err := mark.Apply(read(t, object), []byte(object), free); err != nil {
			t.Errorf("the name is free in one container, and not a mark in the other: %v", err)
		}
		for _, change := range []string{`"uid":"new","resourceVersion":"7"`, `"uid":"u","resourceVersion":"8"`} {
			if got, err := mark.Apply(read(t, object), []byte(strings.Replace(object, `"uid":"u","resourceVersion":"7"`, change, 1)), roll); !errors.Is(err, mark.ErrMoved) {
				t.Errorf("%s: %s, %v", change, got, err)
			}
		}
	}
}

// FuzzApply: whatever the template has, a roll sets its marks and changes nothing else, and a second time it changes nothing.
func FuzzApply(f *testing.F) {
	f.Add(`{"a":"b"}`, `[{"name":"A","value":"1"},{"name":"STAKATER_A_SECRET","value":"00"},{"name":"A","value":"2"}]`, "STAKATER_A_SECRET", "a")
	f.Add(`null`, `null`, "A", "b")
	f.Add(`{}`, `[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}},{"name":"B"}]`, "B", "c")
	f.Fuzz(func(t *testing.T, notes, list, name, key string) {
		pods := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}, {Name: "aside"}}}}
		malformed := errors.Join(json.Unmarshal([]byte(notes), &pods.Annotations), json.Unmarshal([]byte(list), &pods.Spec.Containers[0].Env))
		encoded, err := json.Marshal(pods)
		if malformed != nil || err != nil || name == "" || key == "" || key == mark.HashKey || !utf8.ValidString(name+" "+key) {
			t.Skip()
		}
		object := `{"metadata":{"uid":"u"},"spec":{"template":` + string(encoded) + `}}`
		w, roll := read(t, object), mark.Roll{Hash: "h", Marks: []mark.Mark{env(name, sum, "main"), note(key, sum)}}
		got, err := mark.Apply(w, []byte(object), roll)
		if errors.Is(err, mark.ErrTaken) {
			return
		}
		again, repeated := mark.Apply(w, got, roll)
		if err := errors.Join(err, repeated); err != nil || string(again) != string(got) {
			t.Fatalf("%v; made again: %s, want\n%s", err, again, got)
		}
		before, after := template(t, object), template(t, string(got))
		want := map[string]string{}
		maps.Copy(want, before.Annotations)
		want[key], want[mark.HashKey] = sum, "h"
		own, marked := before.Spec.Containers[0].Env, after.Spec.Containers[0].Env
		if !slices.Contains(marked, corev1.EnvVar{Name: name, Value: sum}) || !maps.Equal(after.Annotations, want) {
			t.Fatalf("not marked: %s", got)
		}
		isMark := func(v corev1.EnvVar) bool { return v.Name == name }
		own, marked = slices.DeleteFunc(own, isMark), slices.DeleteFunc(marked, isMark)
		names := map[string]bool{}
		for _, v := range own {
			names[v.Name] = true
		}
		if len(names) < len(own) { // a merge moves variables of one name to the first of them
			byName := func(a, b corev1.EnvVar) int { return strings.Compare(a.Name, b.Name) }
			slices.SortStableFunc(own, byName)
			slices.SortStableFunc(marked, byName)
		}
		if len(own)+len(marked) > 0 && !reflect.DeepEqual(own, marked) {
			t.Fatalf("other variables: %v, were %v", marked, own)
		}
	})
}

func template(t *testing.T, object string) corev1.PodTemplateSpec {
	t.Helper()
	var o struct {
		Spec struct{ Template corev1.PodTemplateSpec }
	}
	if err := json.Unmarshal([]byte(object), &o); err != nil {
		t.Fatal(err)
	}
	return o.Spec.Template
}
