package admission

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

const (
	configVar = "STAKATER_APP_CONFIGMAP"
	otherVar  = "STAKATER_KEY_SECRET"
)

// TestUpdate: before and after a request, and what the webhook makes of it. In all cases config and other say "new".
func TestUpdate(t *testing.T) {
	old, fresh, freshOther := markOf(t, config, "old"), markOf(t, config, "new"), markOf(t, other, "new")
	entry := strategy.BroughtWith("", config, versionOf(config, "new"), "sum of new")
	both := strategy.BroughtWith(entry, other, versionOf(other, "new"), "sum of new")
	cases := map[string]struct {
		reason                string
		before, after, expect deployment
	}{
		"dropped mark": {
			"it is there again as it was, also if it is out of date",
			deployment{opted: auto, env: env("A", "1", configVar, old), second: env(otherVar, freshOther)},
			deployment{opted: auto, env: env("A", "1")},
			deployment{opted: auto, env: env("A", "1", configVar, old), second: env(otherVar, freshOther)},
		},
		"dropped mark in the middle": {
			"the order of variables is part of the template",
			deployment{opted: auto, env: env("A", "1", configVar, old, "B", "2")},
			deployment{opted: auto, env: env("A", "1", "B", "2")},
			deployment{opted: auto, env: env("A", "1", configVar, old, "B", "2")},
		},
		"dropped mark at the start": {
			"nothing stood before it",
			deployment{opted: auto, env: env(configVar, old, "B", "2")},
			deployment{opted: auto, env: env("B", "2")},
			deployment{opted: auto, env: env(configVar, old, "B", "2")},
		},
		"opt-in": {
			"it rolls nothing, so that no mark is added",
			deployment{},
			deployment{opted: auto},
			deployment{opted: auto},
		},
		"label and replicas": {
			"they are no part of the template",
			deployment{opted: auto, env: env(configVar, old)},
			deployment{opted: auto, env: env(configVar, old), labels: map[string]string{"team": "web"}, replicas: 3},
			deployment{opted: auto, env: env(configVar, old), labels: map[string]string{"team": "web"}, replicas: 3},
		},
		"new image": {
			"it rolls anyway: the mark advances, one is added, and the dispatcher is told",
			deployment{opted: auto, env: env(configVar, old), image: "1"},
			deployment{opted: auto, env: env(configVar, old), image: "2"},
			deployment{opted: auto, env: env(configVar, fresh), second: env(otherVar, freshOther), image: "2", brought: both},
		},
		"new image and dropped mark": {
			"what was dropped is brought up to date",
			deployment{opted: auto, env: env("A", "1", configVar, old), second: env(otherVar, freshOther), image: "1"},
			deployment{opted: auto, env: env("A", "1"), second: env(otherVar, freshOther), image: "2"},
			deployment{opted: auto, env: env("A", "1", configVar, fresh), second: env(otherVar, freshOther), image: "2", brought: both},
		},
		"new image and nothing else": {
			"marks that are up to date stay, and what the pods start with is told: the marks need not be made of all of that",
			deployment{opted: auto, env: env(configVar, fresh), second: env(otherVar, freshOther), image: "1"},
			deployment{opted: auto, env: env(configVar, fresh), second: env(otherVar, freshOther), image: "2"},
			deployment{opted: auto, env: env(configVar, fresh), second: env(otherVar, freshOther), image: "2", brought: both},
		},
		"an older mark brought back": {
			"a rollback to the same template with an older mark is none",
			deployment{opted: auto, env: env(configVar, fresh), second: env(otherVar, freshOther), brought: both},
			deployment{opted: auto, env: env(configVar, old), second: env(otherVar, freshOther), brought: both},
			deployment{opted: auto, env: env(configVar, fresh), second: env(otherVar, freshOther), brought: both},
		},
		"not opted in": {
			"others are left alone, whatever they drop and change",
			deployment{env: env(configVar, old), image: "1"},
			deployment{image: "2"},
			deployment{image: "2"},
		},
		"opted out": {
			"who opts out takes the marks along",
			deployment{opted: auto, env: env(configVar, old)},
			deployment{},
			deployment{},
		},
		"ignored": {
			"a workload can say that it is left alone",
			deployment{opted: auto, env: env(configVar, old)},
			deployment{opted: map[string]string{"reloader.stakater.com/auto": "true", "reroll.dev/ignore": "true"}},
			deployment{opted: map[string]string{"reloader.stakater.com/auto": "true", "reroll.dev/ignore": "true"}},
		},
		"somebody's own variable": {
			"what is no hash is no mark",
			deployment{opted: auto, env: env(configVar, "mine")},
			deployment{opted: auto},
			deployment{opted: auto, second: env(otherVar, freshOther), env: env(configVar, fresh), brought: both},
		},
		"a config that is not used any more": {
			"its mark is gone for good",
			deployment{opted: map[string]string{"configmap.reloader.stakater.com/reload": "app"}, env: env(configVar, old, "STAKATER_GONE_CONFIGMAP", old)},
			deployment{opted: map[string]string{"configmap.reloader.stakater.com/reload": "app"}, env: env(configVar, old)},
			deployment{opted: map[string]string{"configmap.reloader.stakater.com/reload": "app"}, env: env(configVar, fresh), brought: entry},
		},
		"annotations": {
			"marks in annotations of the template, and what the metadata tells, are there again",
			deployment{opted: auto, annotations: map[string]string{strategy.ConfigDigestKey: "d", strategy.LastReloadedFromKey: "{}"}, brought: entry},
			deployment{opted: auto},
			deployment{opted: auto, annotations: map[string]string{strategy.ConfigDigestKey: "d", strategy.LastReloadedFromKey: "{}"}, brought: entry},
		},
		"an annotation of a tool that is asked no more": {
			"the hash of SAP's pod-reloader goes with its annotations",
			deployment{opted: auto, annotations: map[string]string{strategy.SAPHashKey: "00", "mine": "1"}},
			deployment{opted: auto, annotations: map[string]string{"mine": "1"}},
			deployment{opted: auto, annotations: map[string]string{"mine": "1"}, env: env(configVar, fresh), second: env(otherVar, freshOther), brought: both},
		},
	}
	seen := map[reloader.Config]Seen{config: seenOf(config, "new"), other: seenOf(other, "new")}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, _, _ := patched(t, rules, tc.before.raw(t), tc.after.raw(t), seen)
			if diff := cmp.Diff(tc.expect.object(), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			again, _, ops := patched(t, rules, tc.before.raw(t), rawOf(t, got), seen)
			if len(ops) > 0 {
				t.Errorf("asked again about what it has made, it makes %v more: %v", again.Spec.Template, ops)
			}
		})
	}
}

func rawOf(t testing.TB, o any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestCreate: a new workload carries the marks from the start.
func TestCreate(t *testing.T) {
	seen := map[reloader.Config]Seen{config: seenOf(config, "new"), other: {Absent: true}}
	got, marked, _ := patched(t, rules, nil, deployment{opted: auto, env: env("A", "1")}.raw(t), seen)
	want := deployment{opted: auto, env: env("A", "1", configVar, markOf(t, config, "new"))}.object()
	if diff := cmp.Diff(want, got); diff != "" || marked != 1 {
		t.Errorf("%d marked (-want +got):\n%s", marked, diff)
	}
	untouched, _, ops := patched(t, rules, nil, deployment{env: env("A", "1")}.raw(t), seen)
	if len(ops) > 0 {
		t.Errorf("one that has not opted in becomes %v", untouched)
	}
}

// TestTools: the tools whose mark is of all configs together have it at creation, and again when it was dropped.
func TestTools(t *testing.T) {
	seen := map[reloader.Config]Seen{config: seenOf(config, "new"), other: seenOf(other, "new")}
	for key, opted := range map[string]map[string]string{
		strategy.SAPHashKey:  {"pod-reloader.cs.sap.com/configmaps": "app", "pod-reloader.cs.sap.com/secrets": "key"},
		strategy.WaveHashKey: {"wave.pusher.com/update-on-config-change": "true"},
	} {
		t.Run(key, func(t *testing.T) {
			d := deployment{opted: opted}
			made, _, _ := patched(t, rules, nil, d.raw(t), seen)
			mark := made.Spec.Template.Annotations[key]
			if len(mark) != 64 {
				t.Fatalf("its mark is %q", mark)
			}
			kept, _, _ := patched(t, rules, rawOf(t, made), d.raw(t), nil)
			if diff := cmp.Diff(made.Spec.Template, kept.Spec.Template); diff != "" {
				t.Errorf("dropped (-made +kept):\n%s", diff)
			}
			half := map[reloader.Config]Seen{config: seenOf(config, "newer")}
			d.image = "2"
			half2, _, _ := patched(t, rules, rawOf(t, made), d.raw(t), half)
			if got := half2.Spec.Template.Annotations[key]; got != mark {
				t.Errorf("made of half of what it stands for, it is %q", got)
			}
		})
	}
}

// TestMarkTellsNothingOfOtherNamespaces: whoever may write a workload gets to read its mark, also without writing anything.
func TestMarkTellsNothingOfOtherNamespaces(t *testing.T) {
	theirs := reloader.Config{Kind: reloader.Secret, Namespace: "theirs", Name: "token"} // one of its own by that name would hide it
	mark := func(share, content string) string {
		s := seenOf(theirs, content)
		s.Annotations = map[string]string{"reroll.dev/share-with": share}
		d := deployment{opted: map[string]string{"wave.pusher.com/update-on-config-change": "true", "wave.pusher.com/extra-secrets": "theirs/token"}}
		made, _, _ := patched(t, rules, nil, d.raw(t), map[reloader.Config]Seen{config: seenOf(config, "new"), other: seenOf(other, "new"), theirs: s})
		return made.Spec.Template.Annotations[strategy.WaveHashKey]
	}
	if alone := mark("another", "a"); alone == "" || alone != mark("another", "b") {
		t.Error("it is made of a Secret that is not shared")
	}
	if mark("*", "a") == mark("*", "b") {
		t.Error("it is not made of one that is")
	}
}

// TestLabelsChoose: a selector is about the labels of configs.
func TestLabelsChoose(t *testing.T) {
	for label, chosen := range map[string]bool{"web": true, "db": false} {
		s := seenOf(config, "new")
		s.Labels = map[string]string{"app": label}
		d := deployment{opted: map[string]string{"reroll.dev/configmap-selector": "app=web"}}
		_, marked, _ := patched(t, rules, nil, d.raw(t), map[reloader.Config]Seen{config: s, other: seenOf(other, "new")})
		if (marked > 0) != chosen {
			t.Errorf("label %s: %d marked", label, marked)
		}
	}
}

// TestOneAnnotation: the annotation that has room for one mark has that of what was written last, and keeps it.
func TestOneAnnotation(t *testing.T) {
	r := rules
	r.Strategy = strategy.Annotations.Name
	later := seenOf(other, "new")
	later.DataWritten = noon.Add(1e9)
	seen := map[reloader.Config]Seen{config: seenOf(config, "new"), other: later}
	made, _, _ := patched(t, r, nil, deployment{opted: auto}.raw(t), seen)
	w, err := workload.Deployment.Strip(made, r.Dialects.KeepsAnnotation)
	if err != nil {
		t.Fatal(err)
	}
	if mark, found := strategy.Annotations.Current(w, other); !found || mark != markOf(t, other, "new") {
		t.Errorf("it is %q", made.Spec.Template.Annotations)
	}
	after := made.DeepCopy()
	after.Spec.Template.Spec.Containers[0].Image = "example.com/web:2"
	again, _, _ := patched(t, r, rawOf(t, made), rawOf(t, after), seen)
	if diff := cmp.Diff(made.Spec.Template.Annotations, again.Spec.Template.Annotations); diff != "" {
		t.Errorf("a new image (-before +after):\n%s", diff)
	}
}

// TestMissed: a config that could not be read keeps the mark that it has.
func TestMissed(t *testing.T) {
	old := markOf(t, config, "old")
	before := deployment{opted: auto, env: env(configVar, old), image: "1"}
	after := deployment{opted: auto, image: "2"}
	got, marked, _ := patched(t, rules, before.raw(t), after.raw(t), nil)
	want := deployment{opted: auto, env: env(configVar, old), image: "2"}.object()
	if diff := cmp.Diff(want, got); diff != "" || marked != 0 {
		t.Errorf("%d marked (-want +got):\n%s", marked, diff)
	}
}

// TestPlaces: a mark comes after the variable that it came after, as far as that is there.
func TestPlaces(t *testing.T) {
	old := []corev1.EnvVar{{Name: "A"}, {Name: "STAKATER_X", Value: "01"}, {Name: "B"}, {Name: "STAKATER_Y", Value: "02"}}
	marks := []workload.EnvMark{{Index: 1, Name: "STAKATER_X", Value: "01"}, {Index: 3, Name: "STAKATER_Y", Value: "02"}}
	all := func(string) bool { return true }
	for name, tc := range map[string]struct {
		now  []corev1.EnvVar
		want []string
	}{
		"nothing else dropped": {env("A", "", "B", ""), []string{"/spec/template/spec/containers/0/env/1", "/spec/template/spec/containers/0/env/3"}},
		"B dropped as well":    {env("A", "", "C", ""), []string{"/spec/template/spec/containers/0/env/1", "/spec/template/spec/containers/0/env/2"}},
		"all dropped":          {nil, []string{"/spec/template/spec/containers/0/env", "/spec/template/spec/containers/0/env/1"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, op := range restoreVariables("/spec/template", 0, tc.now, old, marks, all) {
				got = append(got, op.Path)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("places (-want +got):\n%s", diff)
			}
		})
	}
}
