package dialect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
)

func TestPlan(t *testing.T) {
	cases := map[string]struct {
		reason             string
		workload, template annotations
		autoReloadAll      bool
		optedIn            bool
		exact              []reloader.Config
		patterns           []string
		problems           []string
	}{
		"switched off":  {reason: "false asks for nothing", workload: annotations{auto: "false", search: "false", cmAuto: "", cmList: " , "}},
		"exclude alone": {reason: "excluding asks for nothing", workload: annotations{cmExclude: "c"}},
		"excluded":      {reason: "left out, listed or referenced", workload: annotations{auto: "true", cmList: "z", cmExclude: "c,z"}, optedIn: true, exact: []reloader.Config{sec("s")}},
		"literal":       {reason: "no pattern is needed", workload: annotations{secList: "a-1"}, optedIn: true, exact: []reloader.Config{sec("a-1")}},
		"dots":          {reason: "a name and a pattern at once", workload: annotations{cmList: "my.app"}, optedIn: true, exact: []reloader.Config{cm("my.app")}, patterns: []string{"ConfigMap my.app"}},
		"bad boolean":   {reason: "said once, although it is about two kinds", workload: annotations{auto: "yes"}, optedIn: true, problems: []string{auto + ` is "yes"; use "true" or "false"`}},
		"bad search":    {reason: "exact values only", workload: annotations{search: "True"}, optedIn: true, problems: []string{search + ` is "True"; use "true" or "false"`}},
		"bad item": {
			reason: "the others go on", workload: annotations{cmList: "ok,(,x["}, optedIn: true, exact: []reloader.Config{cm("ok")},
			problems: []string{
				cmList + `: item "(" is left out: it is not a regular expression: missing closing )`,
				cmList + `: item "x[" is left out: it is not a regular expression: missing closing ]`,
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := dialect.Stakater(dialect.StakaterOptions{AutoReloadAll: c.autoReloadAll})
			got := dialect.Set{d}.Compile(app(c.workload, c.template))
			if got.OptedIn() != c.optedIn {
				t.Errorf("%s: opted in %v, want %v", c.reason, got.OptedIn(), c.optedIn)
			}
			var patterns []string
			for _, p := range got.Patterns {
				patterns = append(patterns, fmt.Sprint(p.Kind, " ", p))
			}
			for what, diff := range map[string]string{
				"names":    cmp.Diff(c.exact, got.Names, cmpopts.EquateEmpty()),
				"patterns": cmp.Diff(c.patterns, patterns, cmpopts.EquateEmpty()),
				"problems": cmp.Diff(c.problems, got.Problems, cmpopts.EquateEmpty()),
			} {
				if diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", c.reason, what, diff)
				}
			}
		})
	}
}

func TestListLimits(t *testing.T) {
	many := func(n int) string {
		items := make([]string, n)
		for i := range items {
			items[i] = fmt.Sprintf("n%d", i)
		}
		return strings.Join(items, ",")
	}
	cases := map[string]struct {
		list         string
		wanted, lost string
		problem      string
	}{
		"as long as it may be": {list: strings.Repeat(" ", 256<<10-2) + ",a", wanted: "a"},
		"too long":             {list: strings.Repeat(" ", 256<<10-1) + ",a", lost: "a", problem: "the list has 262145 bytes"},
		"most names":           {list: many(1000), wanted: "n999"},
		"most expressions":     {list: many(300) + strings.Repeat(",a?", 256) + ",b", wanted: "b"},
		"names with dots":      {list: strings.Repeat("a.b,", 257) + "c", wanted: "axb", lost: "c", problem: "more than 256 expressions"},
		"longest item":         {list: strings.Repeat("a?", 255) + "a," + "b", wanted: strings.Repeat("a", 253)},
		"item too long":        {list: strings.Repeat("a?", 256) + "a," + "b", wanted: "b", lost: "a", problem: "more than 512 characters"},
		"program too large":    {list: "(abcdefghijklmnopqrstuvwxyz){500},b", wanted: "b", problem: "too complex"},
		"programs together":    {list: strings.Repeat("[x-z]{900},", 10) + "b", wanted: "b", problem: "too complex"},
		"repeat beyond Go's":   {list: "a{2000},b", wanted: "b", lost: "a", problem: "invalid repeat count"},
	}
	d := dialect.Stakater(dialect.StakaterOptions{})
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			plan := dialect.Set{d}.Compile(app(annotations{cmList: c.list}, nil))
			if !plan.OptedIn() {
				t.Fatal("not opted in: the problem would be invisible")
			}
			if c.wanted != "" && (!plan.Matches(cm(c.wanted)) || !plan.Decide(dialect.ConfigMeta{Config: cm(c.wanted)}).Reload) {
				t.Errorf("%.20s… is not wanted", c.wanted)
			}
			if c.lost != "" && (plan.Matches(cm(c.lost)) || plan.Decide(dialect.ConfigMeta{Config: cm(c.lost)}).Reload) {
				t.Errorf("%.20s… is wanted", c.lost)
			}
			problems := strings.Join(plan.Problems, "\n")
			if !strings.Contains(problems, c.problem) || (c.problem == "") != (problems == "") {
				t.Errorf("problems = %q, want %q", problems, c.problem)
			}
		})
	}
}

// TestLimitsOfPlans: a workload that exceeds a limit reports that as a problem.
func TestLimitsOfPlans(t *testing.T) {
	many := func(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	numbered := func(n int) string {
		items := make([]string, n)
		for i := range items {
			items[i] = fmt.Sprintf("n%04d", i)
		}
		return strings.Join(items, ",")
	}
	for problem, on := range map[string]annotations{
		"the workload names or references 1200 configs, more than 1000; Secret/ns/n0400 and those": {cmList: numbered(600), secList: numbered(600)},
		"the list has more than 10000 names":                      {auto: "true", cmExclude: numbered(10_001)},
		"reroll.dev/configmaps: the list has more than 256 items": {"reroll.dev/configmaps": many(257, "a-*")},
		"reroll.dev/follow: the list has more than 64 items":      {"reroll.dev/follow": many(65, "c1/shared/configmap/flags")},
		"and 8 more problems": {cmList: func() string {
			items := make([]string, 40)
			for i := range items {
				items[i] = fmt.Sprintf("(%d", i)
			}
			return strings.Join(items, ",")
		}()},
		`reroll.dev/window: "25h" is not between 0 and 24h0m0s`:                {auto: "true", "reroll.dev/window": "25h"},
		`reroll.dev/min-interval: "169h" is not between 0 and 168h0m0s`:        {auto: "true", "reroll.dev/min-interval": "169h"},
		`reloader.stakater.com/pause-period: "169h" is not between 0 and 168h`: {auto: "true", "deployment.reloader.stakater.com/pause-period": "169h"},
	} {
		plan := dialect.All(dialect.StakaterOptions{}).Compile(app(on, nil))
		if problems := strings.Join(plan.Problems, "\n"); !strings.Contains(problems, problem) || len(plan.Names) > dialect.MaxConfigs || len(plan.Problems) > 33 {
			t.Errorf("%d names, problems %.2000q, want %q", len(plan.Names), problems, problem)
		}
	}
}

// other is a second dialect: Stakater's, renamed.
func other() *dialect.Dialect {
	d := dialect.Stakater(dialect.StakaterOptions{Renamed: map[string]string{
		auto: "o/auto", search: "o/search", match: "o/match", ignore: "o/ignore",
		cmAuto: "o/cma", cmList: "o/cm", cmExclude: "o/cmx", secAuto: "o/sa", secList: "o/s", scExclude: "o/sx",
	}})
	d.Name = "other"
	return d
}

func TestPlanOfSeveralDialects(t *testing.T) {
	set := dialect.Set{dialect.Stakater(dialect.StakaterOptions{}), other()}
	got := set.Compile(app(annotations{cmList: "z.*,c,[", "o/auto": "true", "o/search": "x"}, nil))
	if len(got.Enabled) != 2 || got.Enabled[0] != set[0] || len(got.Patterns) != 1 || got.Patterns[0].Namespace != "ns" || len(got.Problems) != 2 {
		t.Errorf("Plan = %+v", got)
	}
	if diff := cmp.Diff([]reloader.Config{cm("c"), sec("s")}, got.Names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if only := got.Only(set[0]); len(only.Enabled) != 1 || len(only.Names) != 1 || len(only.Problems) != 1 {
		t.Errorf("the plan of the first alone = %+v", only)
	}
	if got := set.Compile(app(annotations{"o/cm": "z"}, nil)); len(got.Enabled) != 1 || got.Enabled[0].Name != "other" {
		t.Errorf("Plan = %+v; want that of the second", got)
	}
	if got := set.Compile(app(nil, nil)); got.OptedIn() {
		t.Errorf("Plan = %+v; want none", got)
	}
}
