package app

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/reloader"
)

type flagFact struct{ Type, Default string }

// stakaterFacts are the flags of Stakater Reloader v1.4.21 as its --help shows them.
var stakaterFacts = map[string]flagFact{
	"auto-reload-all":                  {"bool", "false"},
	"configmap-annotation":             {"string", "configmap.reloader.stakater.com/reload"},
	"secret-annotation":                {"string", "secret.reloader.stakater.com/reload"},
	"auto-annotation":                  {"string", "reloader.stakater.com/auto"},
	"ignore-annotation":                {"string", "reloader.stakater.com/ignore"},
	"configmap-auto-annotation":        {"string", "configmap.reloader.stakater.com/auto"},
	"secret-auto-annotation":           {"string", "secret.reloader.stakater.com/auto"},
	"auto-search-annotation":           {"string", "reloader.stakater.com/search"},
	"search-match-annotation":          {"string", "reloader.stakater.com/match"},
	"pause-deployment-annotation":      {"string", "deployment.reloader.stakater.com/pause-period"},
	"pause-deployment-time-annotation": {"string", "deployment.reloader.stakater.com/paused-at"},
	"log-format":                       {"string", ""},
	"log-level":                        {"string", "info"},
	"webhook-url":                      {"string", ""},
	"resources-to-ignore":              {"stringSlice", "[]"},
	"ignored-workload-types":           {"stringSlice", "[]"},
	"namespaces":                       {"stringSlice", "[]"},
	"namespaces-to-ignore":             {"stringSlice", "[]"},
	"namespace-selector":               {"stringSlice", "[]"},
	"resource-label-selector":          {"stringSlice", "[]"},
	"is-Argo-Rollouts":                 {"string", "false"},
	"reload-strategy":                  {"string", "env-vars"},
	"reload-on-create":                 {"string", "false"},
	"reload-on-delete":                 {"string", "false"},
	"enable-ha":                        {"bool", "false"},
	"sync-after-restart":               {"bool", "false"},
	"enable-pprof":                     {"bool", "false"},
	"pprof-addr":                       {"string", "127.0.0.1:6060"},
	"enable-csi-integration":           {"bool", "false"},
}

// addedFacts are the flags that Stakater Reloader v1 lacks: some are of its v2, the others are Reroll's.
var addedFacts = map[string]flagFact{
	"configmap-exclude-annotation":           {"string", "configmaps.exclude.reloader.stakater.com/reload"},
	"secret-exclude-annotation":              {"string", "secrets.exclude.reloader.stakater.com/reload"},
	"secretproviderclass-annotation":         {"string", "secretproviderclass.reloader.stakater.com/reload"},
	"secretproviderclass-auto-annotation":    {"string", "secretproviderclass.reloader.stakater.com/auto"},
	"secretproviderclass-exclude-annotation": {"string", "secretproviderclasses.exclude.reloader.stakater.com/reload"},
	"rollout-strategy-annotation":            {"string", "reloader.stakater.com/rollout-strategy"},
	"webhook-legacy-body":                    {"bool", "false"},
}

// stakaterOnly returns the names of the flags that only the roles that dispatch have because of Stakater Reloader, and stakaterMarks those
// of them that whoever marks workloads has.
func stakaterOnly() []string {
	return append(flagNames(new(Stakater).bindStakater), stakaterMarks()...)
}

func stakaterMarks() []string { return flagNames(new(Stakater).bindStakaterMarks) }

func flagNames(bind func(*pflag.FlagSet)) []string {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	bind(f)
	names := []string{}
	f.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	return names
}

func TestStakaterFlags(t *testing.T) {
	want := maps.Clone(stakaterFacts)
	maps.Copy(want, addedFacts)
	want["log-format"] = flagFact{"string", "text"} // the same as empty, but it says what it is
	for _, name := range []string{"serve", "dispatch"} {
		f, got := flagsOf(roleNamed(t, name)), map[string]flagFact{}
		for flag := range want {
			if found := f.Lookup(flag); found != nil {
				got[flag] = flagFact{found.Value.Type(), found.DefValue}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("flags of %s (-want +got):\n%s", name, diff)
		}
	}
	for _, name := range stakaterOnly() {
		if _, known := want[name]; !known {
			t.Errorf("--%s is in no table", name)
		}
	}
}

// sameSelector compares selectors by what they say.
var sameSelector = cmp.Comparer(func(a, b labels.Selector) bool {
	return a == nil && b == nil || a != nil && b != nil && a.String() == b.String()
})

// TestStakaterCommandLine uses every flag at once.
func TestStakaterCommandLine(t *testing.T) {
	t.Setenv("POD_NAME", "reroll-0")
	t.Setenv("POD_NAMESPACE", "infra")
	args := []string{
		"--auto-reload-all", "--namespaces=a, b", "--namespaces", "c", "--resource-label-selector=reload:yes",
		"--resources-to-ignore=ConfigMaps", "--ignored-workload-types=jobs,cronjobs", "--is-Argo-Rollouts=true",
		"--reload-on-create", "true", "--reload-on-delete=true", "--enable-ha", "--nats-url=nats://n", "--sync-after-restart",
		"--enable-pprof", "--pprof-addr=127.0.0.1:6060", "--enable-csi-integration", "--webhook-url=http://hook/x",
		"--webhook-legacy-body", "--log-format=", "--log-level=warning",
	}
	want := Stakater{
		AutoReloadAll: true, Namespaces: []string{"a", "b", "c"}, NamespaceSelector: labels.Everything(),
		ResourceLabelSelector: labels.SelectorFromSet(labels.Set{"reload": "yes"}),
		IgnoredConfigs:        []reloader.ConfigKind{reloader.ConfigMap}, IgnoredWorkloads: []string{"CronJob", "Job"},
		ReloadOnCreate: true, ReloadOnDelete: true, SyncAfterRestart: true, ArgoRollouts: true, CSI: true,
		WebhookURL: "http://hook/x", WebhookLegacyBody: true, EnableHA: true, PodName: "reroll-0", PodNamespace: "infra",
		EnablePprof: true, PprofAddr: "127.0.0.1:6060",
	}
	for _, k := range want.Keys.All() {
		*k.Key = "Example.com/" + k.Flag
		args = append(args, "--"+k.Flag+"="+*k.Key)
	}
	got, err := settingsOf(t, "serve", args...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Stakater, sameSelector); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if got.Namespace != "infra" || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "--sync-after-restart has no effect") {
		t.Errorf("own namespace %q, warnings %q", got.Namespace, got.Warnings)
	}
}

// TestStakaterDefaults shows what nothing but its defaults makes of a role.
func TestStakaterDefaults(t *testing.T) {
	got, err := settingsOf(t, "serve")
	if err != nil {
		t.Fatal(err)
	}
	want := Stakater{NamespaceSelector: labels.Everything(), ResourceLabelSelector: labels.Everything(), PprofAddr: "127.0.0.1:6060"}
	for _, k := range want.Keys.All() {
		*k.Key = stakaterFacts[k.Flag].Default + addedFacts[k.Flag].Default
	}
	if diff := cmp.Diff(want, got.Stakater, sameSelector); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestOnlyTheWordTrueIsTrue(t *testing.T) {
	for _, flag := range []string{"is-Argo-Rollouts", "reload-on-create", "reload-on-delete"} {
		for text, want := range map[string]bool{"true": true, "false": false, "True": false, "1": false, "yes": false, "": false} {
			s, err := settingsOf(t, "serve", "--"+flag, text)
			if err != nil {
				t.Errorf("--%s %q: %v", flag, text, err)
			}
			for _, l := range s.literalFlags() {
				if on := l.flag == flag && want; *l.on != on {
					t.Errorf("--%s %q makes --%s %t", flag, text, l.flag, *l.on)
				}
			}
		}
	}
}

func TestSelectors(t *testing.T) {
	for name, tc := range map[string]struct {
		args      []string
		want, err string
	}{
		"nothing":                   {want: ""},
		"nothing in words":          {args: []string{"", " , "}, want: ""},
		"today's syntax":            {args: []string{"env=prod"}, want: "env=prod"},
		"several, all of which":     {args: []string{"env=prod,team", "!old"}, want: "env=prod,!old,team"},
		"a set":                     {args: []string{"env in (a,b)"}, want: "env in (a,b)"},
		"unlike":                    {args: []string{"env!=prod"}, want: "env!=prod"},
		"legacy":                    {args: []string{"env:prod"}, want: "env=prod"},
		"legacy beside today's":     {args: []string{"env:prod,team=x"}, want: "env=prod,team=x"},
		"legacy, any value":         {args: []string{"env:*"}, want: "env"},
		"any value":                 {args: []string{"env=*"}, want: "env"},
		"a key with a prefix":       {args: []string{"example.com/env:*"}, want: "example.com/env"},
		"spaces around":             {args: []string{" env:prod , team:* "}, want: "env=prod,team"},
		"no value but any":          {args: []string{"env!=*"}, err: "Invalid value"},
		"a set that does not close": {args: []string{"env in (a"}, err: "unable to parse"},
		"a value that cannot be":    {args: []string{"env:a b"}, err: "\"env=a b\": found 'b'"},
		"nothing can match":         {args: []string{"env=prod", "env=test"}, err: "contradicts itself"},
		"two colons":                {args: []string{"a:b:c"}, err: "Invalid value"},
		"a key that cannot be":      {args: []string{"-env=prod"}, err: "Invalid value"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, flag := range []string{"namespace-selector", "resource-label-selector"} {
				args := []string{}
				for _, a := range tc.args {
					args = append(args, "--"+flag+"="+a)
				}
				s, err := settingsOf(t, "serve", args...)
				if tc.err != "" {
					if err == nil || !strings.HasPrefix(err.Error(), "--"+flag+": ") || !strings.Contains(err.Error(), tc.err) {
						t.Errorf("error %v does not say %q", err, tc.err)
					}
					continue
				}
				if err != nil {
					t.Errorf("--%s: %v", flag, err)
					continue
				}
				got := map[string]string{"namespace-selector": s.NamespaceSelector.String(), "resource-label-selector": s.ResourceLabelSelector.String()}
				want := map[string]string{"namespace-selector": "", "resource-label-selector": ""}
				want[flag] = tc.want
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("selectors (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// lists is what can be said with lists.
type lists struct {
	Namespaces, ToIgnore []string
	Configs              []reloader.ConfigKind
	Workloads            []string
	Warnings             []string
}

func TestLists(t *testing.T) {
	configMaps, secrets := []reloader.ConfigKind{reloader.ConfigMap}, []reloader.ConfigKind{reloader.Secret}
	for name, tc := range map[string]struct {
		env  map[string]string
		file string
		args []string
		want lists
	}{
		"flags given twice":          {args: []string{"--namespaces=a", "--namespaces=b,c"}, want: lists{Namespaces: []string{"a", "b", "c"}}},
		"an empty flag":              {args: []string{"--namespaces="}},
		"environment":                {env: map[string]string{"REROLL_NAMESPACES": "a, b"}, want: lists{Namespaces: []string{"a", "b"}}},
		"a flag over environment":    {env: map[string]string{"REROLL_NAMESPACES": "a"}, args: []string{"--namespaces=b"}, want: lists{Namespaces: []string{"b"}}},
		"text in a file":             {file: "namespaces: a,b\n", want: lists{Namespaces: []string{"a", "b"}}},
		"a list in a file":           {file: "namespaces: [a, b]\n", want: lists{Namespaces: []string{"a", "b"}}},
		"lines in a file":            {file: "namespaces:\n- a\n- b\n", want: lists{Namespaces: []string{"a", "b"}}},
		"nothing in a file":          {file: "namespaces: []\n"},
		"a flag over a file":         {file: "namespaces: [a, b]\n", args: []string{"--namespaces=c"}, want: lists{Namespaces: []string{"c"}}},
		"one namespace":              {env: map[string]string{"KUBERNETES_NAMESPACE": "a"}, want: lists{Namespaces: []string{"a"}}},
		"namespaces over one":        {env: map[string]string{"KUBERNETES_NAMESPACE": "a"}, args: []string{"--namespaces=b"}, want: lists{Namespaces: []string{"b"}}},
		"namespaces to ignore":       {args: []string{"--namespaces-to-ignore=kube-system,infra"}, want: lists{ToIgnore: []string{"kube-system", "infra"}}},
		"configmaps are ignored":     {args: []string{"--resources-to-ignore=configMaps"}, want: lists{Configs: configMaps}},
		"secrets are ignored":        {args: []string{"--resources-to-ignore=SECRETS"}, want: lists{Configs: secrets}},
		"secrets are ignored, twice": {args: []string{"--resources-to-ignore=secrets,secrets"}, want: lists{Configs: secrets}},
		"jobs are ignored":           {args: []string{"--ignored-workload-types=jobs"}, want: lists{Workloads: []string{"Job"}}},
		"cronjobs are ignored":       {args: []string{"--ignored-workload-types=cronjobs"}, want: lists{Workloads: []string{"CronJob"}}},
		"both are ignored":           {file: "ignored-workload-types: [jobs, cronjobs]\n", want: lists{Workloads: []string{"CronJob", "Job"}}},
		"one wrong word": {args: []string{"--ignored-workload-types=jobs,CronJobs"}, want: lists{
			Warnings: []string{`--ignored-workload-types: "CronJobs" is not jobs or cronjobs: the whole list is ignored`},
		}},
		"a scope within a scope": {args: []string{"--namespaces=a", "--namespaces-to-ignore=a", "--namespace-selector=x"}, want: lists{
			Namespaces: []string{"a"},
			Warnings: []string{
				"--namespaces-to-ignore has no effect: --namespaces names those that count",
				"--namespace-selector has no effect: --namespaces names those that count",
			},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range tc.env {
				t.Setenv(key, value)
			}
			if tc.file != "" {
				tc.args = append(tc.args, configFile(t, tc.file))
			}
			s, err := settingsOf(t, "serve", tc.args...)
			if err != nil {
				t.Fatal(err)
			}
			got := lists{s.Namespaces, s.NamespacesToIgnore, s.IgnoredConfigs, s.IgnoredWorkloads, s.Warnings}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("lists (-want +got):\n%s", diff)
			}
			if len(s.Namespaces) > 0 && !s.NamespaceSelector.Empty() {
				t.Errorf("selector %s stays beside namespaces", s.NamespaceSelector)
			}
		})
	}
}
