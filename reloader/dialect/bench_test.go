package dialect_test

import (
	"fmt"
	"testing"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// benchmarked are the annotations of seven of ten workloads of a cluster; the other three have none.
var benchmarked = []annotations{
	{auto: "true"},
	{auto: "true", cmExclude: "c1,c2", ignore: "false"},
	{cmList: "app, app-.*,feature-[a-z]+", secList: "token"},
	{"reroll.dev/auto": "true", "reroll.dev/window": "5s", "reroll.dev/keys": "*.yaml,!debug*"},
	{"reroll.dev/configmaps": "a,b-*,other/c", "reroll.dev/secret-selector": "app=web", "reroll.dev/exclude": "b-9*"},
	{"pod-reloader.cs.sap.com/configmaps": "a,b,c"},
	{"wave.pusher.com/update-on-config-change": "true", "wave.pusher.com/extra-configmaps": "x,other/y"},
}

// cluster returns 5,000 workloads, each with ten references.
func cluster() []*workload.Workload {
	references := map[reloader.Config]*workload.Reference{}
	for i := range 10 {
		references[cm(fmt.Sprintf("c%d", i))] = &workload.Reference{Uses: []reloader.Use{{How: workload.UseEnv, Container: "main", Keys: []string{"a"}}}}
	}
	all := make([]*workload.Workload, 5000)
	for i := range all {
		on := annotations{"app.kubernetes.io/managed-by": "Helm"}
		if i%10 < len(benchmarked) {
			on = benchmarked[i%10]
		}
		all[i] = app(on, nil)
		all[i].Template.References = reloader.ByConfigOf(references)
	}
	return all
}

// BenchmarkCompile compiles 5,000 workloads.
func BenchmarkCompile(b *testing.B) {
	set, all := dialect.All(dialect.StakaterOptions{}), cluster()
	b.ReportAllocs()
	for b.Loop() {
		for _, w := range all {
			set.Compile(w)
		}
	}
}

// BenchmarkDecide decides about one config of one workload, for each kind of annotation in turn.
func BenchmarkDecide(b *testing.B) {
	set, all := dialect.All(dialect.StakaterOptions{}), cluster()
	var plans []dialect.Plan
	for _, w := range all[:10] {
		plans = append(plans, set.Compile(w))
	}
	about := dialect.ConfigMeta{Config: cm("c7"), Annotations: annotations{match: "true"}}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		plans[i%len(plans)].Decide(about)
		i++
	}
}
