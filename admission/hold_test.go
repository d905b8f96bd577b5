package admission

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

var (
	holding = Rules{Dialects: rules.Dialects, Strategy: rules.Strategy, HoldScheduling: true}
	waved   = map[string]string{"wave.pusher.com/update-on-config-change": "true"}
)

// held is what of a workload has to do with its scheduling.
type held struct{ Scheduler, Says, WaitsFor, Mark string }

func heldOf(o *appsv1.Deployment) held {
	mark := ""
	if o.Spec.Template.Annotations[strategy.WaveHashKey] != "" {
		mark = "marked"
	}
	return held{
		o.Spec.Template.Spec.SchedulerName, o.Annotations[strategy.SchedulingKey],
		o.Spec.Template.Annotations[strategy.WaitsForKey], mark,
	}
}

// object returns a Deployment of Wave whose pods are held as h says.
func (h held) object(t *testing.T, opted map[string]string, image string) json.RawMessage {
	t.Helper()
	o := deployment{opted: opted, image: image}.object()
	o.Spec.Template.Spec.SchedulerName = h.Scheduler
	if h.Says != "" {
		o.Annotations[strategy.SchedulingKey] = h.Says
	}
	if h.WaitsFor != "" {
		o.Spec.Template.Annotations = map[string]string{strategy.WaitsForKey: h.WaitsFor}
	}
	return rawOf(t, o)
}

// TestHoldScheduling: who comes before what it needs waits unscheduled, says for what, and has no mark yet; who is there already does not.
func TestHoldScheduling(t *testing.T) {
	const needs = "ConfigMap/shop/app"
	waits := held{strategy.NoScheduler, "default-scheduler", needs, ""}
	none := held{}
	another := held{Scheduler: "other"}
	for name, c := range map[string]struct {
		reason        string
		rules         Rules
		opted         map[string]string
		before, after *held
		want          held
	}{
		"created too early":          {"it waits", holding, waved, nil, &none, waits},
		"by another scheduler":       {"that one comes back", holding, waved, nil, &another, held{strategy.NoScheduler, "other", needs, ""}},
		"asked twice":                {"it waits already", holding, waved, nil, &waits, waits},
		"not wanted":                 {"it is an option", rules, waved, nil, &none, held{Mark: "marked"}},
		"of another tool":            {"only Wave promises it", holding, auto, nil, &none, none},
		"there already":              {"its pods run", holding, waved, &none, &none, none},
		"applied again":              {"it waits as before", holding, waved, &waits, &waits, waits},
		"replaced":                   {"what was dropped is there again", holding, waved, &waits, &none, waits},
		"replaced with another":      {"that one comes back", holding, waved, &waits, &another, held{strategy.NoScheduler, "other", needs, ""}},
		"the annotation was dropped": {"who served it before is known", holding, waved, &held{strategy.NoScheduler, "other", needs, ""}, &held{strategy.NoScheduler, "", needs, ""}, held{strategy.NoScheduler, "other", needs, ""}},
		"opted out":                  {"who lets it go is the dispatcher", holding, nil, &waits, &waits, waits},
	} {
		t.Run(name, func(t *testing.T) {
			opted := map[string]string{"team": "web"}
			for k, v := range c.opted {
				opted[k] = v
			}
			var before json.RawMessage
			if c.before != nil {
				before = c.before.object(t, waved, "1")
			}
			after := c.after.object(t, opted, "1")
			seen := map[reloader.Config]Seen{config: {Absent: true}, other: seenOf(other, "new")}
			got, _, _ := patched(t, c.rules, before, after, seen)
			have := heldOf(got)
			if diff := cmp.Diff(c.want, have); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			again, _, ops := patched(t, c.rules, before, rawOf(t, got), seen)
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("asked twice it answers otherwise: %v\n%s", ops, diff)
			}
		})
	}
}

// TestHoldsWhoLacksAKey: a key counts like a config, what is optional never does, and neither does what cannot be read.
func TestHoldsWhoLacksAKey(t *testing.T) {
	yes := true
	keyOf := func(key string, optional *bool) []corev1.EnvVar {
		return []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "app"}, Key: key, Optional: optional,
		}}}}
	}
	there := seenOf(config, "new")
	there.Digest.Keys = map[string]string{"key": "f"}
	for name, c := range map[string]struct {
		env  []corev1.EnvVar
		seen map[reloader.Config]Seen
		want string
	}{
		"a key is missing":         {keyOf("other", nil), map[reloader.Config]Seen{config: there}, `key "other" of ConfigMap/shop/app`},
		"an optional key":          {keyOf("other", &yes), map[reloader.Config]Seen{config: there}, ""},
		"everything is there":      {keyOf("key", nil), map[reloader.Config]Seen{config: there}, ""},
		"what could not be read":   {keyOf("other", nil), map[reloader.Config]Seen{}, ""},
		"an optional config":       {keyOf("other", &yes), map[reloader.Config]Seen{config: {Absent: true}}, ""},
		"a config that is missing": {keyOf("other", nil), map[reloader.Config]Seen{config: {Absent: true}}, "ConfigMap/shop/app"},
	} {
		t.Run(name, func(t *testing.T) {
			o := deployment{opted: waved}.object()
			o.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Env: c.env}}
			got, _, _ := patched(t, holding, nil, rawOf(t, o), c.seen)
			if have := heldOf(got); have.WaitsFor != c.want || (have.Scheduler == strategy.NoScheduler) != (c.want != "") {
				t.Errorf("it waits for %q with the scheduler %q, want %q", have.WaitsFor, have.Scheduler, c.want)
			}
		})
	}
}

// TestPodsInARowAreNotHeld: the controller of a StatefulSet would wait for the first pod for ever, whatever becomes of the template.
func TestPodsInARowAreNotHeld(t *testing.T) {
	for policy, want := range map[appsv1.PodManagementPolicyType]int{"": 0, appsv1.OrderedReadyPodManagement: 0, appsv1.ParallelPodManagement: 1} {
		o := deployment{opted: waved}.object()
		set := appsv1.StatefulSet{ObjectMeta: o.ObjectMeta, Spec: appsv1.StatefulSetSpec{PodManagementPolicy: policy, Template: o.Spec.Template}}
		draft, err := holding.Draft(workload.StatefulSet, nil, rawOf(t, set))
		if err != nil {
			t.Fatal(err)
		}
		if missing := draft.Missing(map[reloader.Config]Seen{config: {Absent: true}}); len(missing) != want {
			t.Errorf("%q: %v", policy, missing)
		}
	}
}

// TestHeldIsTold: whoever writes is told, and so is the metric; an error that hides something holds nobody.
func TestHeldIsTold(t *testing.T) {
	hold := func(o *Options) { o.HoldScheduling = true }
	answer := response(t, newHandler(t, &world{values: map[reloader.Config]string{other: "new"}}, hold), "", request(t, nil, &deployment{opted: waved}, nil))
	if diff := cmp.Diff([]string{heldWarning}, answer.Warnings); diff != "" || !strings.Contains(string(answer.Patch), strategy.NoScheduler) {
		t.Errorf("warnings (-want +got):\n%s\npatch %s", diff, answer.Patch)
	}
	answer = response(t, newHandler(t, &world{err: errors.New("no answer")}, hold), "", request(t, nil, &deployment{opted: waved}, nil))
	if strings.Contains(string(answer.Patch), strategy.NoScheduler) {
		t.Errorf("what nobody knows holds it: %s", answer.Patch)
	}
}
