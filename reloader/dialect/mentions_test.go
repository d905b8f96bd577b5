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

func TestMentions(t *testing.T) {
	in := func(namespace, name string) reloader.Config {
		return reloader.Config{Kind: reloader.ConfigMap, Namespace: namespace, Name: name}
	}
	const named, excluded, ours = "configmap.reloader.stakater.com/reload", "configmaps.exclude.reloader.stakater.com/reload", "reroll.dev/configmaps"
	cases := map[string][]Mention{
		"nothing": nil,
		"named and excluded": {
			{Clause: excluded, Config: in("shop", "app")}, {Clause: named, Config: in("shop", "app")},
		},
		"sap": {
			{Clause: "pod-reloader.cs.sap.com/configmaps", Config: in("shop", "app")},
			{Clause: "pod-reloader.cs.sap.com/configmaps", Config: in("shop", "other")},
		},
		"wave": {{Clause: "wave.pusher.com/extra-configmaps", Config: in("elsewhere", "app")}},
		"ours": {
			{Clause: "reroll.dev/exclude", Config: in("shop", "app")},
			{Clause: ours, Config: in("shop", "app")},
			{Clause: "reroll.dev/exclude", Config: reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: "app"}},
			{Clause: "reroll.dev/exclude", Config: reloader.Config{Kind: reloader.SecretProviderClass, Namespace: "shop", Name: "app"}},
		},
	}
	for name, want := range cases {
		plan := All(StakaterOptions{}).Compile(speaking(spoken[name]))
		if got := plan.Mentions(); !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
