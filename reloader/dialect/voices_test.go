package dialect

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// spoken are annotations of workloads, some of which contradict each other. All are about the ConfigMap app, to which the workload refers.
var spoken = map[string]map[string]string{
	"nothing":            {},
	"auto":               {"reloader.stakater.com/auto": "true"},
	"named and excluded": {"configmap.reloader.stakater.com/reload": "app", "configmaps.exclude.reloader.stakater.com/reload": "app"},
	"auto and ignored":   {"reloader.stakater.com/auto": "true", "reloader.stakater.com/ignore": "true"},
	"search":             {"reloader.stakater.com/search": "true"},
	"sap":                {"pod-reloader.cs.sap.com/configmaps": "other, app"},
	"wave":               {"wave.pusher.com/update-on-config-change": "true", "wave.pusher.com/extra-configmaps": "elsewhere/app"},
	"wave, not on":       {"wave.pusher.com/extra-configmaps": "app"},
	"ours":               {"reroll.dev/configmaps": "a*,app", "reroll.dev/exclude": "app"},
}

func speaking(annotations map[string]string) *workload.Workload {
	app := reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "app"}
	return &workload.Workload{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart", Annotations: annotations}, Kind: "Deployment",
		Template: workload.Template{References: map[reloader.Config]*workload.Reference{app: {Uses: []reloader.Use{{How: workload.UseEnvFrom, Container: "main"}}}}},
	}
}

// TestVoicesAreWhatDecides: the decision is the first voice that asks or forbids, and if there is none, the first of all.
func TestVoicesAreWhatDecides(t *testing.T) {
	app := ConfigMeta{Config: reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "app"}}
	heard := 0
	for name, annotations := range spoken {
		for _, d := range All(StakaterOptions{}) {
			w := speaking(annotations)
			voices := d.Voices(w, app)
			heard += len(voices)
			want := Decision{Dialect: d.Name, Why: reloader.ReasonNotOptedIn}
			if i := slices.IndexFunc(voices, func(v Decision) bool { return v.Reload || v.Forbids() }); i >= 0 {
				want = voices[i]
			} else if len(voices) > 0 {
				want = voices[0]
			}
			if got := d.Decide(w, app); got != want {
				t.Errorf("%s: %s decides %+v, and the voices are %+v", name, d.Name, got, voices)
			}
		}
	}
	if heard < len(spoken) {
		t.Errorf("%d voices are heard", heard)
	}
}

func TestMentions(t *testing.T) {
	in := func(namespace, name string) reloader.Config {
		return reloader.Config{Kind: reloader.ConfigMap, Namespace: namespace, Name: name}
	}
	const named, excluded, ours = "configmap.reloader.stakater.com/reload", "configmaps.exclude.reloader.stakater.com/reload", "reroll.dev/configmaps"
	cases := map[string][]Mention{
		"nothing": nil,
		"named and excluded": {
			{Clause: excluded, Config: in("shop", "app"), Excluded: true}, {Clause: named, Config: in("shop", "app")},
		},
		"sap": {
			{Clause: "pod-reloader.cs.sap.com/configmaps", Config: in("shop", "other")},
			{Clause: "pod-reloader.cs.sap.com/configmaps", Config: in("shop", "app"), Spaced: true},
		},
		"wave": {{Clause: "wave.pusher.com/extra-configmaps", Config: in("elsewhere", "app")}},
		"ours": {
			{Clause: "reroll.dev/exclude", Config: in("shop", "app"), Excluded: true},
			{Clause: ours, Config: in("shop", "app")},
			{Clause: "reroll.dev/exclude", Config: reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: "app"}, Excluded: true},
			{Clause: "reroll.dev/exclude", Config: reloader.Config{Kind: reloader.SecretProviderClass, Namespace: "shop", Name: "app"}, Excluded: true},
		},
	}
	for name, want := range cases {
		var got []Mention
		for _, d := range All(StakaterOptions{}) {
			got = append(got, d.Mentions(speaking(spoken[name]))...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestSays: what a tool is asked for counts whether or not it listens.
func TestSays(t *testing.T) {
	wave := Wave()
	w := speaking(spoken["wave, not on"])
	if keys, after := wave.Says(w); !slices.Equal(keys, []string{"wave.pusher.com/extra-configmaps"}) || !after {
		t.Errorf("it says %q, looks after it: %t", keys, after)
	}
	w.Kind = "CronJob"
	if _, after := wave.Says(w); after {
		t.Error("Wave looks after CronJobs")
	}
	if keys, _ := wave.Says(speaking(spoken["auto"])); keys != nil {
		t.Errorf("another tool's annotations are taken for %q", keys)
	}
}
