package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

var (
	rules = reloader.Config{Kind: reloader.ConfigMap, Namespace: "shared", Name: "rules"}
	// followedRules is what others call rules, which is the hub's.
	followedRules = reloader.Config{Cluster: "hub", Kind: reloader.ConfigMap, Namespace: "shared", Name: "rules"}
)

// aFollower is a workload of a cluster that asks for some configs and is at the newest content of each.
func aFollower(cluster, name string, configs ...reloader.Config) reloader.WorkloadRecord {
	w := aWorkload("edge", name)
	edge := w.Edges[0]
	w.Cluster, w.Edges, w.Hold = cluster, nil, nil
	edge.Pending = ""
	for _, c := range configs {
		edge.Config = c
		w.Edges = append(w.Edges, edge)
	}
	return w
}

// followRules has the workload proxy of two clusters follow rules of the cluster hub, whose own gate uses it, too. All of them wait for its newest change.
func (f *fixture) followRules() reloader.Change {
	for _, cluster := range []string{"hub", "c2", "c3"} {
		s := aStatus()
		s.Cluster = cluster
		f.records.PutCluster(s)
	}
	change := aChange(1)
	change.ID, change.Cluster, change.Config = "c-rules", "hub", rules
	f.records.AddChange(1, change)
	gate, two, three := aFollower("hub", "gate", rules), aFollower("c2", "proxy", followedRules), aFollower("c3", "proxy", followedRules)
	for _, w := range []*reloader.WorkloadRecord{&gate, &two, &three} {
		w.Edges[0].Pending = change.ID
		f.records.PutWorkload(*w)
	}
	return change
}

const rulesPath = "hub/shared/ConfigMap/rules"

// TestImpactReachesFollowers: a config rolls workloads of other clusters that follow it, each as those who run its own cluster say.
func TestImpactReachesFollowers(t *testing.T) {
	f := newFixture(t)
	f.followRules()
	frozen := aStatus()
	frozen.Cluster, frozen.Freeze = "c3", &reloader.Pause{Reason: "a sale"}
	f.records.PutCluster(frozen)
	impact := impactOf(t, f, rulesPath)
	got := map[string]string{}
	for _, w := range impact.Workloads {
		got[w.Cluster+"/"+w.Workload.Namespace+"/"+w.Workload.Name] = string(w.Fate) + " " + string(w.Verdict.Reason)
	}
	want := map[string]string{"hub/edge/gate": "Now ", "c2/edge/proxy": "Now ", "c3/edge/proxy": "Later Frozen"}
	if diff := cmp.Diff(want, got); diff != "" || impact.RollsNow != 2 || impact.RollsLater != 1 || !impact.Complete {
		t.Errorf("%d roll, %d wait, complete %t (-want +got):\n%s", impact.RollsNow, impact.RollsLater, impact.Complete, diff)
	}
}

// TestChangesTellClustersApart: what waits for a change, and what has rolled for it, are workloads of whatever clusters.
func TestChangesTellClustersApart(t *testing.T) {
	f := newFixture(t)
	change := f.followRules()
	for n, cluster := range []string{"c2", "c3"} {
		r := aReload(n + 1)
		r.Cluster, r.Causes[0].ChangeID, r.Causes[0].Config = cluster, change.ID, followedRules
		f.records.AddReload(uint64(n+1), r)
	}
	row := list[view.ChangeRow](t, f, "/api/v1/changes").Items[0]
	var got []string
	for _, p := range row.Pending {
		got = append(got, "waits "+p.Cluster+"/"+p.Workload.Name)
	}
	for _, r := range row.Reloads {
		got = append(got, "rolled "+r.Cluster+"/"+r.Workload.Name)
	}
	same(t, "what waits and what rolled", []string{"waits hub/gate", "waits c2/proxy", "waits c3/proxy", "rolled c2/cart", "rolled c3/cart"}, got)
}

// TestExplainTellsConfigsOfOneNameApart: a workload may ask for configs of the same kind and name in several namespaces and clusters.
func TestExplainTellsConfigsOfOneNameApart(t *testing.T) {
	f := newFixture(t)
	change := f.followRules()
	own, shared := reloader.Config{Kind: rules.Kind, Namespace: "edge", Name: rules.Name}, rules
	proxy := aFollower("c2", "proxy", own, shared, followedRules)
	proxy.Edges[2].Pending, proxy.Hold = change.ID, &reloader.Hold{Reason: reloader.ReasonLimited, Since: start, Due: start.Add(time.Hour)}
	f.records.PutWorkload(proxy)
	const path = "/api/v1/workloads/c2/edge/Deployment/proxy?"
	const one = "configKind=ConfigMap&configName=rules"
	cases := map[string]struct {
		query string
		want  []string
	}{
		"all":                    {"", []string{"/edge UpToDate", "/shared UpToDate", "hub/shared Held"}},
		"its own":                {one, []string{"/edge UpToDate"}},
		"its own, in full":       {one + "&configNamespace=edge&configCluster=c2", []string{"/edge UpToDate"}},
		"of another namespace":   {one + "&configNamespace=shared", []string{"/shared UpToDate"}},
		"of another cluster":     {one + "&configNamespace=shared&configCluster=hub", []string{"hub/shared Held"}},
		"all of a namespace":     {"configNamespace=shared", []string{"/shared UpToDate", "hub/shared Held"}},
		"all of a cluster":       {"configCluster=hub", []string{"hub/shared Held"}},
		"one it does not follow": {one + "&configNamespace=shared&configCluster=c3", []string{"c3/shared NotADependency"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, x := range get1[view.Explained](t, f, path+tc.query).Explanations {
				got = append(got, fmt.Sprintf("%s/%s %s", x.Config.Cluster, x.Config.Namespace, x.State))
			}
			same(t, "explained", tc.want, got)
		})
	}
	held := get1[view.Explained](t, f, path+one+"&configNamespace=shared&configCluster=hub").Explanations[0]
	if c := held.Change; c == nil || c.ID != change.ID || c.Candidates[0].User != "alice" {
		t.Errorf("who changed what is followed is not told: %+v", held)
	}
}

// TestImpactSaysWhetherItIsComplete: that nothing would roll is known only of what everything is known about. Any cluster may have followers.
func TestImpactSaysWhetherItIsComplete(t *testing.T) {
	cluster := func(name string, at time.Time, ready bool, behind uint64) func(*fixture) {
		return func(f *fixture) {
			s := aStatus()
			s.Cluster, s.At, s.Ready = name, at, ready
			f.records.PutCluster(s)
			f.records.PutPosition(name, reloader.Position{Of: "STATE", Behind: behind})
		}
	}
	nothing := func(*fixture) {}
	now := time.Now()
	for name, tc := range map[string]struct {
		target string
		edit   func(*fixture)
		warns  string // empty if it is complete
	}{
		"all is known":       {passwordPath, nothing, ""},
		"nobody asks for it": {"local/shop/ConfigMap/none", nothing, ""},
		"some may be paused, and are in the answer": {passwordPath, func(f *fixture) {
			s := aStatus()
			s.Pauses = []reloader.Pause{{Selector: "a=b", Until: now.Add(time.Hour)}}
			f.records.PutCluster(s)
		}, ""},
		"a misspelt cluster":       {"nowhere/shop/ConfigMap/settings", nothing, "Nothing is on record about this cluster."},
		"it has gone silent":       {passwordPath, cluster("local", start, true, 0), "local"},
		"it is still looking":      {passwordPath, cluster("local", now, false, 0), "The dispatcher is still recording"},
		"another has gone silent":  {passwordPath, cluster("east", start, true, 0), "east"},
		"another has begun":        {passwordPath, cluster("east", now, false, 0), "Cluster east: The dispatcher is still recording"},
		"another is ready":         {passwordPath, cluster("east", now, true, 3), ""},
		"records of it are behind": {passwordPath, cluster("east", now, true, 20_000), "Cluster east: 20000 records of workloads have not arrived yet."},
		"it never told of itself": {"east/shop/ConfigMap/settings", func(f *fixture) {
			w := aWorkload("shop", "cart")
			w.Cluster = "east"
			f.records.PutWorkload(w)
		}, "east"},
	} {
		t.Run(name, func(t *testing.T) {
			f := populated(t)
			tc.edit(f)
			got := impactOf(t, f, tc.target)
			if warnings := strings.Join(got.Warnings, "\n"); got.Complete != (tc.warns == "") || !strings.Contains(warnings, tc.warns) || tc.warns != "" && warnings == "" {
				t.Errorf("complete %t with warnings %q, want %q", got.Complete, got.Warnings, tc.warns)
			}
		})
	}
}
