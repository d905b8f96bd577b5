package api

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

func TestClusterHealth(t *testing.T) {
	cases := map[string]struct {
		edit   func(*reloader.ClusterStatus)
		health view.Health
	}{
		"all is well":      {func(*reloader.ClusterStatus) {}, view.Healthy},
		"not ready":        {func(s *reloader.ClusterStatus) { s.Ready = false }, view.Degraded},
		"silent feed":      {func(s *reloader.ClusterStatus) { s.Feeds[0].State = "silent" }, view.Degraded},
		"refused canaries": {func(s *reloader.ClusterStatus) { s.Feeds[0].State = "refused" }, view.Degraded},
		"faulty part":      {func(s *reloader.ClusterStatus) { s.Faults = []reloader.Fault{{Part: "nats", Reason: "away"}} }, view.Degraded},
		"faulty control":   {func(s *reloader.ClusterStatus) { s.ControlProblems = []string{"freeze: what?"} }, view.Degraded},
		"away":             {func(s *reloader.ClusterStatus) { s.At = s.At.Add(-2 * time.Minute) }, view.Away},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			s := aStatus()
			tc.edit(&s)
			f.records.PutCluster(s)
			got := get1[view.Cluster](t, f, "/api/v1/clusters/local")
			if got.Health != tc.health || (len(got.Problems) == 0) != (tc.health == view.Healthy) {
				t.Errorf("got %s %q, want %s", got.Health, got.Problems, tc.health)
			}
		})
	}
	f := newFixture(t)
	f.records.AddChange(1, aChange(1))
	if got := get1[view.Cluster](t, f, "/api/v1/clusters/local"); got.Health != view.Unknown || got.LastChangeAt.IsZero() {
		t.Errorf("a cluster that has published no status: %+v", got)
	}
}

func TestGraph(t *testing.T) {
	f := newFixture(t)
	f.populate()
	f.records.PutWorkload(aWorkload("shop", "till"))
	g := get1[view.Graph](t, f, "/api/v1/graph")
	if len(g.Nodes) != 4 || len(g.Edges) != 3 || len(g.Warnings) != 0 {
		t.Fatalf("want two configs, two workloads and three dependencies: %+v", g)
	}
	if g := get1[view.Graph](t, f, "/api/v1/graph?limit=2"); len(g.Edges) != 2 || len(g.Warnings) != 1 {
		t.Errorf("cut short without a word: %+v", g)
	}
	if g := get1[view.Graph](t, f, "/api/v1/graph?configName=settings"); len(g.Edges) != 1 || len(g.Nodes) != 2 || g.Edges[0].Keys[0] != "level" {
		t.Errorf("of one config: %+v", g)
	}
	if g := get1[view.Graph](t, f, "/api/v1/graph?limit=1&configNamespace=shop&configCluster=local&configName=settings"); len(g.Edges) != 1 || len(g.Warnings) != 0 {
		t.Errorf("of one config in its place: %+v", g)
	}
	r := httptest.NewRequest("GET", "/api/v1/graph?configName=password", nil)
	r.Header.Set("Accept", graphType)
	w := f.do(t, r)
	want := `"local/Secret/shop/password" -> "local/Deployment/shop/cart" [style=dashed, label=""];`
	if w.Header().Get("Content-Type") != graphType || !strings.Contains(w.Body.String(), want) || !strings.HasPrefix(w.Body.String(), "digraph") {
		t.Errorf("%s %s", w.Header().Get("Content-Type"), w.Body)
	}
}

// Workloads without a dependency of the kind that is asked for leave room for those that have one.
func TestGraphOfFew(t *testing.T) {
	f := newFixture(t)
	f.records.PutCluster(reloader.ClusterStatus{Cluster: "local", At: time.Now()})
	for _, name := range []string{"a", "b", "c"} {
		settled := aWorkload("shop", name)
		settled.Edges[0].Pending = ""
		f.records.PutWorkload(settled)
	}
	f.records.PutWorkload(aWorkload("shop", "waits"))
	if g := get1[view.Graph](t, f, "/api/v1/graph?pending=true&limit=1"); len(g.Edges) != 1 || len(g.Warnings) != 0 {
		t.Errorf("want the one dependency that is pending, and no warning: %+v", g)
	}
}

func TestStats(t *testing.T) {
	f := newFixture(t)
	f.populate()
	refused := aReload(9)
	refused.ID, refused.Outcome, refused.PatchedAt, refused.Workload.Name = "r-9", reloader.ReasonRefused, time.Time{}, "till"
	f.records.AddReload(9, refused)
	frozen := aReload(10)
	frozen.ID, frozen.HeldBy, frozen.Workload.Name = "r-10", reloader.ReasonFrozen, "frozen"
	frozen.Causes[0].RequestedAt = frozen.PatchedAt.Add(-time.Hour)
	f.records.AddReload(10, frozen)
	baseline := aChange(5)
	baseline.Type, baseline.ID = reloader.ChangeBaseline, "c-5"
	f.records.AddChange(5, baseline)
	s := get1[view.Stats](t, f, "/api/v1/stats?since=2026-11-21T12:00:00Z&until=2026-11-21T12:00:12Z&buckets=4")
	if s.BucketSeconds != 3 || len(s.Buckets) != 4 || s.Total.Changes != 4 || s.Total.Reloads != 5 {
		t.Fatalf("got %+v", s)
	}
	if diff := cmp.Diff([]view.OutcomeCount{{Outcome: "Refused", Count: 1}, {Outcome: "Reloaded", Count: 4}}, s.Total.Outcomes); diff != "" {
		t.Error(diff)
	}
	if l := s.Total.Latency; l == nil || l.Count != 4 || l.P50 != 1.35 || l.P99 != 1.35 {
		t.Errorf("latency %+v", l)
	}
	changes, reloads := 0, 0
	for _, b := range s.Buckets {
		changes += b.Changes
		reloads += b.Reloads
	}
	if changes != 4 || reloads != 5 || s.Buckets[0].Changes != 2 || s.Buckets[3].Reloads != 2 {
		t.Errorf("buckets do not add up: %+v", s.Buckets)
	}
	if len(s.Workloads) != 2 || s.Workloads[0].Name != "cart" || s.Workloads[0].Count != 3 || s.Configs[0].Name != "settings" {
		t.Errorf("most frequent: %+v %+v", s.Workloads, s.Configs)
	}
	if s := get1[view.Stats](t, f, "/api/v1/stats?cluster=east&since=2026-11-21T12:00:00Z&until=2026-11-21T12:00:12Z"); s.Total.Changes+s.Total.Reloads != 0 {
		t.Errorf("of another cluster: %+v", s.Total)
	}
}

func TestConfigState(t *testing.T) {
	f := newFixture(t)
	f.populate()
	c := get1[view.ConfigState](t, f, settingsPath)
	if c.Presence != view.Present || c.Digest != aChange(3).New.Sum[:12] || c.LastChange != aChange(3).ID || len(c.Dependents) != 1 || c.Dependents[0].Name != "cart" {
		t.Errorf("got %+v", c)
	}
	gone := aChange(9)
	gone.Type, gone.ID = reloader.ChangeDeleted, "c-9"
	f.records.AddChange(9, gone)
	if c := get1[view.ConfigState](t, f, settingsPath); c.Presence != view.Absent || c.Digest != "" {
		t.Errorf("deleted: %+v", c)
	}
	named := aWorkload("shop", "named")
	named.Edges[0].Config.Name = "never"
	f.records.PutWorkload(named)
	if c := get1[view.ConfigState](t, f, "/api/v1/configs/local/shop/Secret/never"); c.Presence != view.NeverSeen || c.LastChange != "" {
		t.Errorf("never seen: %+v", c)
	}
}

// Following the cursors visits everything once, whatever the size of a page.
func TestPagesOfEveryListing(t *testing.T) {
	f := newFixture(t)
	f.populate()
	for n := range 7 {
		w := aWorkload("shop", fmt.Sprint("w-", n))
		w.Edges = append(w.Edges, w.Edges[0], w.Edges[0])
		w.Edges[1].Config.Name, w.Edges[2].Config.Name = fmt.Sprint("b-", n), fmt.Sprint("a-", n)
		f.records.PutWorkload(w)
		s := aStatus()
		s.Cluster, s.Freeze.Frozen = fmt.Sprint("c-", n), true
		f.records.PutCluster(s)
	}
	for _, path := range []string{"clusters", "configs", "dependencies", "held", "freezes", "pauses", "windows", "reasons", "workloads", "timeline", "dependencies?pending=true"} {
		target := "/api/v1/" + path
		join := "?"
		if strings.Contains(path, "?") {
			join = "&"
		}
		whole := list[any](t, f, target+join+"limit=500").Items
		if len(whole) < 4 {
			t.Errorf("%s lists %d", path, len(whole))
		}
		var pages []any
		cursor := ""
		for range len(whole) + 1 {
			page := list[any](t, f, target+join+"limit=3&continue="+cursor)
			pages = append(pages, page.Items...)
			if cursor = page.Metadata.Continue; cursor == "" {
				break
			}
		}
		if diff := cmp.Diff(whole, pages); diff != "" {
			t.Errorf("%s in pages (-whole +pages):\n%s", path, diff)
		}
	}
}

func TestSelfIsNobody(t *testing.T) {
	if got := get1[view.Self](t, newFixture(t), "/api/v1/self"); got.Authenticated || got.User != "" || len(got.Actions) != 0 {
		t.Errorf("nobody was asked for a name: %+v", got)
	}
}

func TestReasonsAreTheClosedList(t *testing.T) {
	got := list[view.ReasonInfo](t, newFixture(t), "/api/v1/reasons?limit=500").Items
	if len(got) != len(reloader.Reasons) {
		t.Errorf("%d reasons, want %d", len(got), len(reloader.Reasons))
	}
	for _, r := range got {
		if r.Reason == "Refused" && (!r.Holds || !r.Dead) || r.Reason == "Reloaded" && r.Holds {
			t.Errorf("got %+v", r)
		}
	}
}
