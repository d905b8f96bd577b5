package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// TestExplainTellsNoChangeThatIsNotShown: who may see a workload need not be allowed to see the configs of other namespaces and clusters that it names.
func TestExplainTellsNoChangeThatIsNotShown(t *testing.T) {
	for name, c := range map[string]struct {
		config reloader.Config
		edge   reloader.Edge
	}{
		"not shared":           {rules, reloader.Edge{Config: rules, Why: reloader.ReasonNotShared, Handled: reloader.Handled{How: reloader.ReasonBaseline, At: start}}},
		"shared until a while": {rules, reloader.Edge{Config: rules, Why: reloader.ReasonNotShared, Handled: reloader.Handled{How: reloader.ReasonReloaded, KeyID: "k", Sum: "new", At: start}}},
		"may not be followed":  {followedRules, reloader.Edge{Config: followedRules, Why: reloader.ReasonFollowed}},
	} {
		f := newFixture(t)
		f.followRules()
		own := rules
		own.Cluster = ""
		change := aChange(5)
		change.Cluster, change.Config = "c2", own
		f.records.AddChange(5, change)
		proxy := aFollower("c2", "proxy", c.config)
		proxy.Edges = []reloader.Edge{c.edge}
		f.records.PutWorkload(proxy)
		all := get1[view.Explained](t, f, "/api/v1/workloads/c2/edge/Deployment/proxy").Explanations
		if said := fmt.Sprint(all); len(all) != 1 || strings.Contains(said, "alice") || strings.Contains(said, change.ID) {
			t.Errorf("%s: it is told of the change: %s", name, said)
		}
	}
}
