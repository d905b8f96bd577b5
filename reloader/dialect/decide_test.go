package dialect_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

type annotations = map[string]string

// The tool's own keys, shortened for the tables.
const (
	auto      = "reloader.stakater.com/auto"
	cmAuto    = "configmap.reloader.stakater.com/auto"
	secAuto   = "secret.reloader.stakater.com/auto"
	cmList    = "configmap.reloader.stakater.com/reload"
	secList   = "secret.reloader.stakater.com/reload"
	cmExclude = "configmaps.exclude.reloader.stakater.com/reload"
	scExclude = "secrets.exclude.reloader.stakater.com/reload"
	search    = "reloader.stakater.com/search"
	match     = "reloader.stakater.com/match"
	ignore    = "reloader.stakater.com/ignore"
)

func cm(name string) reloader.Config {
	return reloader.Config{Kind: reloader.ConfigMap, Namespace: "ns", Name: name}
}

func sec(name string) reloader.Config {
	return reloader.Config{Kind: reloader.Secret, Namespace: "ns", Name: name}
}

// app returns a workload that refers to ConfigMap c and Secret s in its container, and to Secret pull as a whole.
func app(onWorkload, onTemplate annotations) *workload.Workload {
	return &workload.Workload{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "app", Annotations: onWorkload},
		Kind:       "Deployment",
		Template: workload.Template{
			Annotations: onTemplate,
			Containers:  []workload.Container{{Name: "main"}},
			References: reloader.ByConfigOf(map[reloader.Config]*workload.Reference{
				cm("c"):     {Uses: []reloader.Use{{How: "envFrom", Container: "main"}}},
				sec("s"):    {Uses: []reloader.Use{{How: "envFrom", Container: "main"}}},
				sec("pull"): {Uses: []reloader.Use{{How: "imagePullSecret"}}},
			}),
		},
	}
}

// sameDialects compares dialects by their names.
var sameDialects = cmp.Comparer(func(a, b *dialect.Dialect) bool { return a.Name == b.Name })

type decisionCase struct {
	reason               string
	workload, template   annotations
	config               reloader.Config
	onConfig             annotations
	why                  reloader.Reason
	clause               string
	autoReloadAll, other bool
}

// decisionCases has each reason of the order of decision once at least. Most of its sentences are files of tests/scenarios; here is what those do not have.
var decisionCases = map[string]decisionCase{
	"ignore on the template": {reason: "fixed: and there", workload: annotations{cmList: "c"}, template: annotations{ignore: "true"}, config: cm("c"), why: reloader.ReasonIgnored, clause: ignore},
	"ignore is no trigger":   {reason: "it does not hide the template", workload: annotations{ignore: "false"}, template: annotations{auto: "true"}, config: cm("c"), why: reloader.ReasonAuto, clause: auto},

	"hidden by empty auto":   {reason: "3: an empty value is present", workload: annotations{auto: ""}, template: annotations{auto: "true"}, config: cm("c"), why: reloader.ReasonNotOptedIn},
	"hidden by list":         {reason: "3", workload: annotations{cmList: "else"}, template: annotations{auto: "true"}, config: cm("c"), why: reloader.ReasonNotOptedIn},
	"not hidden, by exclude": {reason: "3: exclude is no trigger", workload: annotations{cmExclude: "else"}, template: annotations{auto: "true"}, config: cm("c"), why: reloader.ReasonAuto, clause: auto},
	"no mixture":             {reason: "3: one map or the other", workload: annotations{search: "true"}, template: annotations{auto: "true"}, config: cm("c"), why: reloader.ReasonUnselected, clause: search},
	"exclude, both":          {reason: "fixed: what either says holds", workload: annotations{auto: "true", cmExclude: "z"}, template: annotations{cmExclude: "c"}, config: cm("c"), why: reloader.ReasonIgnored, clause: cmExclude},
	"exclude of other type":  {reason: "4: each type has its own", workload: annotations{auto: "true", scExclude: "c"}, config: cm("c"), why: reloader.ReasonAuto, clause: auto},

	"dot is a wildcard":   {reason: "5: also in ordinary names", workload: annotations{cmList: "my.app"}, config: cm("my-app"), why: reloader.ReasonNamed, clause: cmList},
	"shorter alternative": {reason: "the longer side is found too", workload: annotations{cmList: "a|ab"}, config: cm("ab"), why: reloader.ReasonNamed, clause: cmList},
	"torn item":           {reason: "5: a comma always separates", workload: annotations{cmList: "a{1,2}"}, config: cm("aa"), why: reloader.ReasonNotOptedIn},
	"parentheses":         {reason: "an item cannot break out of its anchors", workload: annotations{cmList: "a)|(b"}, config: cm("a"), why: reloader.ReasonNotOptedIn},
	"list beats auto":     {reason: "5 comes before 7", workload: annotations{cmList: "c", auto: "true"}, config: cm("c"), why: reloader.ReasonNamed, clause: cmList},

	"search, no use":      {reason: "6: only references are searched", workload: annotations{search: "true"}, config: cm("z"), onConfig: annotations{match: "true"}, why: reloader.ReasonNotReferenced, clause: search},
	"search beats auto":   {reason: "6 comes before 7", workload: annotations{search: "true", auto: "true"}, config: cm("c"), onConfig: annotations{match: "true"}, why: reloader.ReasonSearch, clause: search},
	"auto after search":   {reason: "an unmarked config is left to auto", workload: annotations{search: "true", auto: "true"}, config: cm("c"), why: reloader.ReasonAuto, clause: auto},
	"match without cause": {reason: "match alone asks for nothing", workload: annotations{match: "true"}, config: cm("c"), onConfig: annotations{match: "true"}, why: reloader.ReasonNotOptedIn},

	"auto, not referenced": {reason: "7: only references", workload: annotations{auto: "true"}, config: cm("z"), why: reloader.ReasonNotReferenced, clause: auto},
	"typed auto":           {reason: "7", workload: annotations{cmAuto: "true"}, config: cm("c"), why: reloader.ReasonAuto, clause: cmAuto},

	"all":                {reason: "8", autoReloadAll: true, config: cm("c"), why: reloader.ReasonAuto, clause: "--auto-reload-all"},
	"all, auto empty":    {reason: "8: empty says nothing", autoReloadAll: true, workload: annotations{auto: ""}, config: cm("c"), why: reloader.ReasonAuto, clause: "--auto-reload-all"},
	"all, template says": {reason: "8: the template may opt out", autoReloadAll: true, template: annotations{auto: "false"}, config: cm("c"), why: reloader.ReasonNotOptedIn},

	"other namespace": {
		reason: "workloads see their own namespace", workload: annotations{cmList: "c", auto: "true"}, other: true,
		config: reloader.Config{Kind: reloader.ConfigMap, Namespace: "ns2", Name: "c"}, why: reloader.ReasonNotOptedIn,
	},
}

func TestStakaterDecides(t *testing.T) {
	for name, c := range decisionCases {
		t.Run(name, func(t *testing.T) {
			d := dialect.Stakater(dialect.StakaterOptions{AutoReloadAll: c.autoReloadAll})
			plan := dialect.Set{d}.Compile(app(c.workload, c.template))
			got := plan.Decide(dialect.ConfigMeta{Config: c.config, Annotations: c.onConfig})
			reload := c.why == reloader.ReasonNamed || c.why == reloader.ReasonAuto || c.why == reloader.ReasonSearch
			want := dialect.Decision{Reload: reload, Dialect: "stakater", Why: c.why, Clause: c.clause}
			if c.why == reloader.ReasonNotOptedIn {
				want.Dialect = ""
			}
			if reload {
				want.Marks = []*dialect.Dialect{d}
			}
			if diff := cmp.Diff(want, got, sameDialects); diff != "" {
				t.Errorf("rule %s (-want +got):\n%s", c.reason, diff)
			}
			if reload && !plan.Matches(c.config) {
				t.Errorf("Decide says yes to a config that the plan does not match: %+v", plan)
			}
			if c.other && plan.Matches(c.config) {
				t.Error("the plan reaches into another namespace")
			}
		})
	}
}
