package dialect_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

func TestOwnKeys(t *testing.T) {
	uses := []reloader.Use{{How: workload.UseEnv, Container: "main", Keys: []string{"a", "b.yaml"}}}
	for list, want := range map[string]string{
		"":                "a b.yaml c debug.yaml",
		"used":            "a b.yaml",
		"*.yaml":          "b.yaml debug.yaml",
		"*.yaml, !debug*": "b.yaml",
		"!?":              "b.yaml debug.yaml",
		"used,!a":         "b.yaml",
		"a,c,used":        "a",
		"(":               "a b.yaml c debug.yaml",
	} {
		w := app(annotations{"reroll.dev/keys": list, auto: "true"}, nil)
		w.Template.References.Get(cm("c")).Uses = uses
		counting := func(counts func(string) bool) []string {
			return slices.DeleteFunc([]string{"a", "b.yaml", "c", "debug.yaml"}, func(key string) bool { return counts != nil && !counts(key) })
		}
		plan := dialect.All(dialect.StakaterOptions{}).Compile(w)
		got := counting(plan.Decide(dialect.ConfigMeta{Config: cm("c")}).Counts)
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q count, want %q", list, got, want)
		}
		told, err := dialect.ParseKeys(plan.Chosen.Keys.String())
		again := counting(told.Filter(uses))
		if err != nil || !slices.Equal(again, got) {
			t.Errorf("%q: who is told %q counts %q: %v", list, told, again, err)
		}
	}
}

func TestOtherNamespaces(t *testing.T) {
	theirs := reloader.Config{Kind: reloader.ConfigMap, Namespace: "other", Name: "c"}
	for name, c := range map[string]struct {
		list, share string
		want        reloader.Reason
	}{
		"shared with us":         {"other/c", "x, ns", reloader.ReasonNamed},
		"shared with all":        {"other/c", "*", reloader.ReasonNamed},
		"not shared":             {"other/c", "", reloader.ReasonNotShared},
		"named without its name": {"c", "*", reloader.ReasonNotOptedIn},
		"excluded":               {"other/c", "*", reloader.ReasonIgnored},
		"another one excluded":   {"other/c", "*", reloader.ReasonNamed},
	} {
		set := dialect.All(dialect.StakaterOptions{})
		exclude := map[string]string{"excluded": "other/c", "another one excluded": "c"}[name]
		w := app(annotations{"reroll.dev/configmaps": c.list, "reroll.dev/exclude": exclude, auto: "true"}, nil)
		plan := set.Compile(w)
		got := plan.Decide(dialect.ConfigMeta{Config: theirs, Annotations: annotations{"reroll.dev/share-with": c.share}})
		if got.Why != c.want {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
		if c.want == reloader.ReasonNotShared {
			// Nothing else that it says counts, nor do its labels.
			hidden := dialect.ConfigMeta{Config: theirs, Unselected: true, Annotations: annotations{"reroll.dev/share-with": c.share, "reroll.dev/ignore": "true"}}
			if absent := (dialect.ConfigMeta{Config: theirs}); !cmp.Equal(plan.Decide(hidden), plan.Decide(absent)) || plan.Shows(hidden) {
				t.Errorf("%s: %+v, and %+v if it is absent", name, plan.Decide(hidden), plan.Decide(absent))
			}
		}
		if plan.Matches(theirs) != (c.list == "other/c" && c.want != reloader.ReasonIgnored) {
			t.Errorf("%s: the plan is %+v", name, plan)
		}
	}
}

// FuzzDialects checks that whatever annotations say, no dialect panics or asks for what the plan does not match.
func FuzzDialects(f *testing.F) {
	f.Add("reroll.dev/configmaps", "a*,other/b", "reroll.dev/keys", "used,!x*", "ab", "x1")
	f.Add("pod-reloader.cs.sap.com/configmaps", " a ,b", "pod-reloader.cs.sap.com/secrets", "s", "a", "k")
	f.Add("wave.pusher.com/update-on-config-change", "true", "wave.pusher.com/extra-configmaps", "x/y,c", "c", "k")
	f.Add("reroll.dev/follow", "c1/ns/configmap/c,x", "reroll.dev/configmaps", "c", "c", "k")
	f.Add("reroll.dev/follow", "a/b/secret/c=d=e,,=,/", "reroll.dev/configmap-selector", "x > 5", "c", "x")
	f.Add("reroll.dev/configmap-selector", "tier in (b,web),!old", "reroll.dev/keys", "web", "c", "tier")
	set := dialect.All(dialect.StakaterOptions{})
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2, name, key string) {
		config := cm(name)
		if name == "" || config.Validate() != nil {
			return // no config has such a name
		}
		w := app(annotations{k1: v1, k2: v2}, nil)
		plan := set.Compile(w)
		c := dialect.ConfigMeta{Config: config, Annotations: annotations{k1: v1}, Labels: map[string]string{key: v2}}
		got := plan.Decide(c)
		if got.Reload && (!plan.OptedIn() || !plan.Matches(config)) {
			t.Errorf("%+v, but the plan is %+v", got, plan)
		}
		abroad := c
		abroad.Config.Cluster = "c1"
		if plan.Decide(abroad).Reload != (plan.OptedIn() && plan.Matches(abroad.Config)) {
			t.Errorf("of another cluster: %+v, but the plan is %+v", plan.Decide(abroad), plan)
		}
		if got.Counts != nil {
			got.Counts(key)
		}
		for _, d := range set {
			if d.Joint != nil {
				d.Joint.Values(w, map[reloader.Config]dialect.Part{config: {Content: configMap(map[string]string{key: v1})}})
			}
		}
		for _, named := range plan.Names {
			if named.Validate() != nil {
				t.Errorf("no config can have the name %+v", named)
			}
		}
		for _, p := range plan.Problems {
			if len(p) > 2000+len(k1)+len(k2) || strings.Contains(p, "\n") {
				t.Errorf("problem %q", p)
			}
		}
	})
}

const selector = "reroll.dev/configmap-selector"

func TestFaultySelectors(t *testing.T) {
	for text, want := range map[string]string{
		"a==b,":                           `"a==b," is not a label selector, such as app=web,tier in (front,back); it selects nothing`,
		"a in b":                          `"a in b" is not a label selector, such as app=web,tier in (front,back); it selects nothing`,
		" ":                               "a selector that asks for nothing would select everything; a glob * in a list says that; it selects nothing",
		strings.Repeat("a", 3e3):          "the selector has 3000 bytes, more than 2048; it selects nothing",
		"a" + strings.Repeat(",a!=b", 16): "the selector has 17 requirements, more than 16; it selects nothing",
	} {
		got := dialect.Set{dialect.Own()}.Compile(app(annotations{selector: text}, nil))
		if diff := cmp.Diff([]string{selector + ": " + want}, got.Problems); !got.OptedIn() || diff != "" || len(got.Patterns) > 0 {
			t.Errorf("%.20q: opted in %v, patterns %v (-want +got):\n%s", text, got.OptedIn(), got.Patterns, diff)
		}
	}
}
