package admission

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/mark"
)

// TestUpdate: a workload before and after a request, and as the API server then stores it. In all cases config and other say "new".
func TestUpdate(t *testing.T) {
	old, fresh, freshOther := markOf(config, "o"), markOf(config, "new"), markOf(other, "new")
	oldState, current := stateOf(t, 4, map[reloader.Config]string{config: "o"}), stateOf(t, 5, map[reloader.Config]string{config: "new", other: "new"})
	first := current
	first.N = 1
	wasOld := deployment{opted: auto, env: env(configVar, old), applied: oldState.Annotation(), hash: hashOf(oldState)}
	isNew := deployment{opted: auto, env: env(configVar, fresh), second: env(otherVar, freshOther), applied: current.Annotation(), hash: hashOf(current)}
	with := func(d deployment, changes ...func(*deployment)) deployment {
		for _, change := range changes {
			change(&d)
		}
		return d
	}
	image := func(tag string) func(*deployment) { return func(d *deployment) { d.image = tag } }
	opted := func(by map[string]string) func(*deployment) { return func(d *deployment) { d.opted = by } }
	both := maps.Clone(auto)
	both["reroll.dev/ignore"] = "true"
	listed := map[string]string{"configmap.reloader.stakater.com/reload": "app"}
	requested := with(isNew, func(d *deployment) {
		d.opted = maps.Clone(auto)
		d.opted[mark.RequestedKey] = "now"
	}, image("2"))
	afterRequest := current
	afterRequest.Requested = reloader.ValueID("now")
	requested.applied = afterRequest.Annotation()
	cases := map[string]struct {
		reason                string
		before, after, expect deployment
	}{
		"a mark in the middle": {
			"the order of variables is part of the template",
			with(wasOld, func(d *deployment) { d.env = env("A", "1", configVar, old, "B", "2") }),
			deployment{opted: auto, env: env("A", "1", "B", "2")},
			with(wasOld, func(d *deployment) { d.env = env("A", "1", configVar, old, "B", "2") }),
		},
		"a copy of before": {
			"a manifest with an earlier State and earlier marks rolls nothing, nor does an undo of nothing else",
			isNew, wasOld, isNew,
		},
		"a damaged State":       {"it is that of before", isNew, with(isNew, func(d *deployment) { d.applied = "x" }), isNew},
		"somebody's copy":       {"a State of another workload is none", isNew, with(isNew, func(d *deployment) { d.applied = strings.Replace(d.applied, uid, "another", 1) }), isNew},
		"opting in rolling":     {"a baseline is never written", deployment{image: "1"}, deployment{opted: auto, image: "2"}, deployment{opted: auto, image: "2"}},
		"a new image":           {"it rolls anyway, with all that is new", with(wasOld, image("1")), with(wasOld, image("2")), with(isNew, image("2"))},
		"a new image, replaced": {"what was dropped is brought up to date", with(wasOld, image("1")), deployment{opted: auto, image: "2"}, with(isNew, image("2"))},
		"an undo":               {"the image goes back, and the State does not", with(isNew, image("2")), with(wasOld, image("1")), with(isNew, image("1"))},
		"never rolled": {
			"the first new template counts as the first roll",
			deployment{opted: auto, image: "1"},
			deployment{opted: auto, image: "2"},
			with(isNew, image("2"), func(d *deployment) { d.applied, d.hash = first.Annotation(), hashOf(first) }),
		},
		"requested": {
			"a roll that is requested is made by the new template",
			with(wasOld, opted(requested.opted), image("1")), with(wasOld, opted(requested.opted), image("2")), requested,
		},
		"another tool's mark": {
			"it stays, so that two tools do not undo each other's writes",
			wasOld, with(wasOld, func(d *deployment) { d.env = env(configVar, "ab") }), isNew,
		},
		"not opted in": {"others are left alone", with(wasOld, opted(nil)), deployment{image: "2"}, deployment{image: "2"}},
		"somebody's own variable": {
			"what is not a hash is not a mark",
			with(wasOld, func(d *deployment) { d.env = env(configVar, "mine") }), wasOld, isNew,
		},
		"a config that is not used any more": {
			"its mark is gone for good",
			with(wasOld, opted(listed), func(d *deployment) { d.env = env(configVar, old, "STAKATER_GONE_CONFIGMAP", old) }),
			with(wasOld, opted(listed)),
			with(wasOld, opted(listed), func(d *deployment) {
				s := stateOf(t, 5, map[reloader.Config]string{config: "new"})
				d.env, d.applied, d.hash = env(configVar, fresh), s.Annotation(), hashOf(s)
			}),
		},
		"an annotation of a tool that is not used any more": {
			"the hash of SAP's pod-reloader goes with its annotations",
			with(isNew, func(d *deployment) { d.annotations = map[string]string{dialect.SAPHashKey: "00", "mine": "1"} }),
			with(isNew, func(d *deployment) { d.annotations = map[string]string{"mine": "1"} }),
			with(isNew, func(d *deployment) { d.annotations = map[string]string{"mine": "1"} }),
		},
		"own annotations": {
			"they need no mark but the hash, and a variable of it",
			deployment{opted: own, image: "1"},
			deployment{opted: own, image: "2"},
			deployment{
				opted: own, image: "2", applied: first.Annotation(), hash: hashOf(first),
				env: env(mark.HashEnv, hashOf(first)), second: env(mark.HashEnv, hashOf(first)),
			},
		},
	}
	w := &world{values: map[reloader.Config]string{config: "new", other: "new"}}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, _ := answered(t, rulesOf(t), tc.before.raw(t), tc.after.raw(t), w)
			if diff := cmp.Diff(tc.expect.object(), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if again, patch := answered(t, rulesOf(t), tc.before.raw(t), rawOf(t, got), w); patch != nil {
				t.Errorf("asked again about what it has made, it makes %v: %s", again.Spec.Template, patch)
			}
		})
	}
}

// TestForgotten: the State drops configs that the workload does not use any more, so that names with a hash of the content do not add up.
func TestForgotten(t *testing.T) {
	gone := reloader.Config{Kind: reloader.ConfigMap, Namespace: namespace, Name: "app-5f7d"}
	s := stateOf(t, 5, map[reloader.Config]string{config: "o", gone: "o"})
	before := deployment{opted: auto, image: "1", applied: s.Annotation(), hash: hashOf(s)}
	after := before
	after.image = "2"
	got, _ := answered(t, rulesOf(t), before.raw(t), after.raw(t), &world{values: map[reloader.Config]string{config: "new"}})
	state, err := applied.Parse(got.Annotations[applied.Key], uid, nil)
	if diff := cmp.Diff(stateOf(t, 6, map[reloader.Config]string{config: "new"}), state); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestTools: the tools whose mark is made of all configs together have it after a new template, and again when it was dropped.
func TestTools(t *testing.T) {
	w := &world{values: map[reloader.Config]string{config: "new", other: "new"}}
	for key, opted := range map[string]map[string]string{
		dialect.SAPHashKey:  {"pod-reloader.cs.sap.com/configmaps": "app", "pod-reloader.cs.sap.com/secrets": "key"},
		dialect.WaveHashKey: {"wave.pusher.com/update-on-config-change": "true"},
	} {
		t.Run(key, func(t *testing.T) {
			one, two, three := deployment{opted: opted, image: "1"}, deployment{opted: opted, image: "2"}, deployment{opted: opted, image: "3"}
			made, _ := answered(t, rulesOf(t), one.raw(t), two.raw(t), w)
			value := made.Spec.Template.Annotations[key]
			if value == "" {
				t.Fatalf("it has the annotations %v", made.Spec.Template.Annotations)
			}
			kept, _ := answered(t, rulesOf(t), rawOf(t, made), two.raw(t), w)
			if diff := cmp.Diff(made, kept); diff != "" {
				t.Errorf("dropped (-made +kept):\n%s", diff)
			}
			half := &world{values: map[reloader.Config]string{config: "newer", other: "slow"}}
			h := newHandler(t, half, nil)
			answer := response(t, h, "?timeout=300ms", request(t, made, three.object(), nil))
			if stored := string(apply(t, three.raw(t), answer.Patch)); !strings.Contains(stored, value) || !strings.Contains(stored, `\"n\":2`) {
				t.Errorf("if a part cannot be read, the mark must stay and the State must have the rest: %s", stored)
			}
			r := rulesOf(t)
			r.HashOnly = true
			if plain, _ := answered(t, r, one.raw(t), two.raw(t), w); plain.Spec.Template.Annotations[key] != "" || plain.Spec.Template.Annotations[mark.HashKey] == "" {
				t.Errorf("without marks of tools it has the annotations %v", plain.Spec.Template.Annotations)
			}
		})
	}
}

// TestOneAnnotation: the annotation that has room for one mark keeps it in a new template.
func TestOneAnnotation(t *testing.T) {
	r := rulesOf(t)
	r.Strategy = mark.Annotations.Name
	one, two := deployment{opted: auto, image: "1"}, deployment{opted: auto, image: "2"}
	w := &world{values: map[reloader.Config]string{config: "new", other: "new"}}
	made, _ := answered(t, r, one.raw(t), two.raw(t), w)
	if made.Spec.Template.Annotations[mark.LastReloadedFromKey] == "" {
		t.Errorf("it has the annotations %v", made.Spec.Template.Annotations)
	}
	again, _ := answered(t, r, rawOf(t, made), one.raw(t), w)
	if diff := cmp.Diff(made.Spec.Template.Annotations, again.Spec.Template.Annotations); diff != "" {
		t.Errorf("a new image (-before +after):\n%s", diff)
	}
}

// TestUnreadKeepsItsMark: a config that cannot be read keeps its mark and its entry.
func TestUnreadKeepsItsMark(t *testing.T) {
	s := stateOf(t, 5, map[reloader.Config]string{config: "o"})
	before := deployment{opted: auto, env: env(configVar, markOf(config, "o")), image: "1", applied: s.Annotation(), hash: hashOf(s)}
	want := before
	want.image = "2"
	got, _ := answered(t, rulesOf(t), before.raw(t), deployment{opted: auto, image: "2"}.raw(t), &world{err: corev1.ErrIntOverflowGenerated})
	if diff := cmp.Diff(want.object(), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
