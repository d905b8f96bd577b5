package dialect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// TestLargeTemplate: a pod template refers to more configs than a workload may depend on. The first of them count, always the same ones, and the
// workload says which do not.
func TestLargeTemplate(t *testing.T) {
	w := app(annotations{auto: "true"}, nil)
	w.Template.References = map[reloader.Config]*workload.Reference{}
	for i := range 3000 {
		w.Template.References[cm(fmt.Sprintf("c%04d", i))] = &workload.Reference{Uses: []reloader.Use{{How: workload.UseEnvFrom, Container: "app"}}}
	}
	set := dialect.All(dialect.StakaterOptions{})
	for range 2 {
		plan := set.Compile(w)
		if len(plan.Names) != dialect.MaxConfigs || !plan.Matches(cm("c0999")) || plan.Matches(cm("c1000")) {
			t.Fatalf("%d configs, want the first %d", len(plan.Names), dialect.MaxConfigs)
		}
		if problems := strings.Join(plan.Problems, "\n"); !strings.Contains(problems, "3000") || !strings.Contains(problems, "c1000") {
			t.Errorf("problems %q do not say what is left out", problems)
		}
	}
}

// TestProblemsAreBounded: each fault of an annotation is told of, but no more than a person reads.
func TestProblemsAreBounded(t *testing.T) {
	faults := annotations{cmList: strings.Repeat("(,", 20_000), dialect.FollowKey: strings.Repeat("x,", 20_000)}
	for i := range 5000 {
		faults[fmt.Sprintf("reroll.dev/x%d", i)] = "1"
	}
	plan := dialect.All(dialect.StakaterOptions{}).Compile(app(faults, nil))
	if n := len(plan.Problems); n == 0 || n > 40 {
		t.Errorf("%d problems", n)
	}
	if last := plan.Problems[len(plan.Problems)-1]; !strings.Contains(last, "more problems") {
		t.Errorf("the last problem is %q, and does not say that there are more", last)
	}
}

// TestListsAreParsedOnce: what a list means is worked out once for each version of a workload, however many configs are decided about.
func TestListsAreParsedOnce(t *testing.T) {
	set := dialect.All(dialect.StakaterOptions{})
	lists := annotations{
		cmList:                          strings.TrimSuffix(strings.Repeat("team-[a-z]+-config-[0-9]+,", 250), ","),
		"reroll.dev/configmaps":         strings.TrimSuffix(strings.Repeat("team-*-config-?,", 250), ","),
		"reroll.dev/exclude":            strings.TrimSuffix(strings.Repeat("not-*,", 250), ","),
		"reroll.dev/configmap-selector": "app=web,tier in (front,back)",
		"reroll.dev/keys":               strings.TrimSuffix(strings.Repeat("key-*,", 250), ","),
	}
	w := app(lists, nil)
	plan := set.Compile(w)
	compiling := testing.AllocsPerRun(10, func() { set.Compile(w) })
	deciding := testing.AllocsPerRun(100, func() {
		for _, name := range []string{"some-config-of-another-name", "team-a-config-1", "not-this"} {
			plan.Decide(dialect.ConfigMeta{Config: cm(name)})
		}
	})
	if deciding > compiling/100 {
		t.Errorf("three decisions allocate %v times, and compiling %v times: lists are parsed again", deciding, compiling)
	}
}
