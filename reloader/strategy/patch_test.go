package strategy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/reroll-dev/reroll/reloader/strategy"
)

const lastReload = "reroll.dev/last-reload"

func TestOnePatchOfEverything(t *testing.T) {
	for _, s := range strategy.All {
		for name, has := range map[string][]func(*appsv1.Deployment){
			"no annotations":      nil,
			"unknown annotations": {annotation("a/b~c", "1"), templateAnnotation("d", "2")},
		} {
			t.Run(s.Name+", "+name, func(t *testing.T) {
				d := deployment(has...)
				w := stripped(t, d)
				ops, err := s.Patch(w, []strategy.Mark{{Config: cm("c"), Value: hashA, At: changed}})
				if err != nil {
					t.Fatal(err)
				}
				got, err := apply(t, d, strategy.Precondition(w), ops, strategy.ConfigDigest(w, "abc"), strategy.Annotate(w, lastReload, "r-1"))
				if err != nil {
					t.Fatal(err)
				}
				marked, err := apply(t, d, ops)
				if err != nil {
					t.Fatal(err)
				}
				templateAnnotation(strategy.ConfigDigestKey, "abc")(marked)
				annotation(lastReload, "r-1")(marked)
				if diff := cmp.Diff(marked, got); diff != "" {
					t.Errorf("joined (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestPreconditionRefusesWhatMoved(t *testing.T) {
	w := stripped(t, deployment())
	if _, err := apply(t, deployment(), strategy.Precondition(w)); err != nil {
		t.Errorf("the workload that was read is refused: %v", err)
	}
	for name, edit := range map[string]func(*appsv1.Deployment){
		"a new generation":           func(d *appsv1.Deployment) { d.Generation++ },
		"another object of the name": func(d *appsv1.Deployment) { d.UID = "u2" },
		"no generation":              func(d *appsv1.Deployment) { d.Generation = 0 },
	} {
		if got, err := apply(t, deployment(edit), strategy.Precondition(w)); err == nil {
			t.Errorf("%s passed: %+v", name, got)
		}
	}
	status := func(d *appsv1.Deployment) { d.ResourceVersion, d.Status.Replicas = "99", 7 }
	if _, err := apply(t, deployment(status), strategy.Precondition(w)); err != nil {
		t.Errorf("a status update is in the way: %v", err)
	}
	unborn := deployment(func(d *appsv1.Deployment) { d.UID, d.Generation = "", 0 })
	if _, err := apply(t, unborn, strategy.Precondition(stripped(t, unborn))); err != nil {
		t.Errorf("an object without UID and generation is refused: %v", err)
	}
	if _, err := apply(t, deployment(), strategy.Precondition(stripped(t, unborn))); err == nil {
		t.Error("an object that has got a UID meanwhile passed")
	}
}

func TestAnnotationsMadeMeanwhileAreNotLost(t *testing.T) {
	w := stripped(t, deployment())
	meanwhile := deployment(annotation("deployment.kubernetes.io/revision", "1"))
	if got, err := apply(t, meanwhile, strategy.Annotate(w, lastReload, "r-1")); err == nil {
		t.Errorf("the map was replaced: %v", got.Annotations)
	}
	if got, err := apply(t, deployment(templateAnnotation("d", "2")), strategy.ConfigDigest(w, "abc")); err == nil {
		t.Errorf("the template's map was replaced: %v", got.Spec.Template.Annotations)
	}
}

func TestAnnotateReplacesItsOwn(t *testing.T) {
	d := deployment(annotation(lastReload, "r-1"), annotation("a", "1"))
	got, err := apply(t, d, strategy.Annotate(stripped(t, d), lastReload, "r-2"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{lastReload: "r-2", "a": "1"}, got.Annotations); diff != "" {
		t.Error(diff)
	}
}

func TestMarshal(t *testing.T) {
	if data, err := strategy.Marshal(); err != nil || string(data) != "[]" {
		t.Errorf("no operations: %s, %v", data, err)
	}
	ops := []strategy.Op{{Op: "add", Path: "/a", Value: "1"}, {Op: "add", Path: "/a", Value: "2"}}
	data, err := strategy.Marshal(ops)
	if want := `[{"op":"add","path":"/a","value":"1"},{"op":"add","path":"/a","value":"2"}]`; err != nil || string(data) != want {
		t.Errorf("Marshal = %s, %v; want %s", data, err, want)
	}
	if _, err := strategy.Marshal([]strategy.Op{{Value: func() {}}}); err == nil {
		t.Error("a value that is no JSON was encoded")
	}
}

func TestPointer(t *testing.T) {
	for want, tokens := range map[string][]string{
		"":                     nil,
		"/a/b":                 {"a", "b"},
		"/reroll.dev~1x/~0~01": {"reroll.dev/x", "~~1"},
	} {
		if got := strategy.Pointer(tokens...); got != want {
			t.Errorf("Pointer(%q) = %q, want %q", tokens, got, want)
		}
	}
}
