package dialect_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
)

const selector = "reroll.dev/configmap-selector"

func TestSelector(t *testing.T) {
	for name, c := range map[string]struct {
		reason   string
		selector string
		config   reloader.Config
		labels   map[string]string
		want     reloader.Reason
	}{
		"matches":           {"its labels are as asked for", "app=web", cm("x"), map[string]string{"app": "web", "more": "yes"}, reloader.ReasonNamed},
		"sets":              {"as kubectl has them", "tier in (a, b), !old", cm("x"), map[string]string{"tier": "b"}, reloader.ReasonNamed},
		"another value":     {"all of it must match", "app=web,tier=a", cm("x"), map[string]string{"app": "web"}, reloader.ReasonUnselected},
		"no labels":         {"nothing is there to match", "app", cm("x"), nil, reloader.ReasonUnselected},
		"another kind":      {"each kind has a selector of its own", "app", sec("x"), map[string]string{"app": ""}, reloader.ReasonNotOptedIn},
		"another namespace": {"a selector is about the workload's", "app", reloader.Config{Kind: reloader.ConfigMap, Namespace: "other", Name: "x"}, map[string]string{"app": ""}, reloader.ReasonNotOptedIn},
		"faulty":            {"it selects nothing", "app in", cm("x"), map[string]string{"app": ""}, reloader.ReasonNotOptedIn},
	} {
		w := app(annotations{selector: c.selector}, nil)
		plan := dialect.All(dialect.StakaterOptions{}).Compile(w)
		got := plan.Decide(dialect.ConfigMeta{Config: c.config, Labels: c.labels})
		if got.Why != c.want || got.Reload != (c.want == reloader.ReasonNamed) {
			t.Errorf("%s: %+v, want %s: %s", name, got, c.want, c.reason)
		}
		if got.Reload && (!plan.OptedIn() || !plan.Matches(c.config)) {
			t.Errorf("%s: the plan is %+v", name, plan)
		}
	}
}

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

// FuzzSelector checks that whatever a selector says, nothing is decided for that the plan does not match.
func FuzzSelector(f *testing.F) {
	f.Add("app=web", "app", "web")
	f.Add("tier in (a,b),!old", "tier", "b")
	f.Add("x > 5", "x", "7")
	f.Fuzz(func(t *testing.T, text, key, value string) {
		plan := dialect.Set{dialect.Own()}.Compile(app(annotations{selector: text}, nil))
		got := plan.Decide(dialect.ConfigMeta{Config: cm("c"), Labels: map[string]string{key: value}})
		if got.Reload && (!plan.OptedIn() || !plan.Matches(cm("c")) || len(plan.Problems) > 0) {
			t.Errorf("%+v, but the plan is %+v", got, plan)
		}
		for _, p := range plan.Problems {
			if len(p) > 1000 || strings.Contains(p, "\n") {
				t.Errorf("problem %q", p)
			}
		}
	})
}
