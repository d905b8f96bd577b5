package api

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

func TestChangeFilters(t *testing.T) {
	f := newFixture(t)
	add := func(seq uint64, edit func(*reloader.Change)) {
		c := aChange(int(seq))
		edit(&c)
		c.ID = fmt.Sprintf("c-%d", seq)
		f.records.AddChange(seq, c)
	}
	add(1, func(c *reloader.Change) { c.Type = reloader.ChangeBaseline })
	add(2, func(*reloader.Change) {})
	add(3, func(c *reloader.Change) { c.Cluster = "east" })
	add(4, func(c *reloader.Change) { c.Config.Kind = reloader.Secret })
	add(5, func(c *reloader.Change) { c.Config.Name = "other" })
	add(6, func(c *reloader.Change) { c.Config.Namespace = "bank"; c.Type = reloader.ChangeDeleted })
	cases := map[string]filtered{
		"newest first, baselines hidden":    {"", []string{"c-6", "c-5", "c-4", "c-3", "c-2"}},
		"baselines on request":              {"includeBaselines=true", []string{"c-6", "c-5", "c-4", "c-3", "c-2", "c-1"}},
		"baselines alone":                   {"type=Baseline", []string{"c-1"}},
		"a type hides the others":           {"type=Deleted&includeBaselines=true", []string{"c-6"}},
		"cluster":                           {"cluster=east", []string{"c-3"}},
		"namespace":                         {"namespace=bank", []string{"c-6"}},
		"kind":                              {"configKind=Secret", []string{"c-4"}},
		"name":                              {"name=other", []string{"c-5"}},
		"since takes the same moment":       {"since=" + at(5, 250), []string{"c-6", "c-5"}},
		"since does not take the one later": {"since=" + at(5, 251), []string{"c-6"}},
	}
	checkListing(t, f, "/api/v1/changes?", cases, func(c view.ChangeRow) string { return c.ID })
}

// at returns the time of aChange(n) plus some milliseconds, for a query.
func at(n, milliseconds int) string {
	moment := start.Add(time.Duration(n)*time.Second + time.Duration(milliseconds)*time.Millisecond)
	return url.QueryEscape(moment.In(time.FixedZone("", 2*3600)).Format(time.RFC3339Nano))
}

// filtered is a query and the records that it lists.
type filtered struct {
	query string
	want  []string
}

// checkListing compares what a listing has for each query.
func checkListing[V any](t *testing.T, f *fixture, listing string, cases map[string]filtered, id func(V) string) {
	t.Helper()
	for name, tc := range cases {
		got := []string{}
		for _, item := range list[V](t, f, listing+tc.query).Items {
			got = append(got, id(item))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: ?%s (-want +got):\n%s", name, tc.query, diff)
		}
	}
}

func TestReloadFilters(t *testing.T) {
	f := newFixture(t)
	add := func(n int, edit func(*reloader.Reload)) {
		r := aReload(n)
		edit(&r)
		f.records.AddReload(uint64(n), r)
	}
	add(1, func(*reloader.Reload) {})
	add(2, func(r *reloader.Reload) { r.Outcome = reloader.ReasonAlreadyCurrent; r.PatchedAt = time.Time{} })
	add(3, func(r *reloader.Reload) { r.Workload.Kind = "StatefulSet"; r.Causes[0].Config.Kind = reloader.Secret })
	add(4, func(r *reloader.Reload) {
		second := r.Causes[0]
		second.Config = reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: "password"}
		r.Causes = append(r.Causes, second)
	})
	add(5, func(r *reloader.Reload) { r.Workload.Name = "till"; r.Workload.Namespace = "bank"; r.Cluster = "east" })
	add(6, func(r *reloader.Reload) {
		r.Cluster = "edge"
		r.Causes[0].Config = reloader.Config{Cluster: "hub", Kind: reloader.ConfigMap, Namespace: "shared", Name: "rules"}
	})
	cases := map[string]filtered{
		"newest first":                 {"", []string{"r-6", "r-5", "r-4", "r-3", "r-2", "r-1"}},
		"cluster":                      {"cluster=east", []string{"r-5"}},
		"namespace":                    {"namespace=bank", []string{"r-5"}},
		"name":                         {"name=till", []string{"r-5"}},
		"kind":                         {"kind=StatefulSet", []string{"r-3"}},
		"outcome":                      {"outcome=AlreadyCurrent", []string{"r-2"}},
		"config kind of any cause":     {"configKind=Secret", []string{"r-4", "r-3"}},
		"config name of any cause":     {"configName=password", []string{"r-4"}},
		"both of the same cause":       {"configKind=ConfigMap&configName=password", []string{}},
		"config namespace":             {"configNamespace=shared", []string{"r-6"}},
		"config cluster":               {"configCluster=hub", []string{"r-6"}},
		"its own cluster":              {"configCluster=east", []string{"r-5"}},
		"of another's config":          {"configCluster=hub&configNamespace=shop", []string{}},
		"what a change led to":         {"change=" + aChange(3).ID, []string{"r-3"}},
		"since is when it was decided": {"since=" + at(4, 1250), []string{"r-6", "r-5", "r-4"}},
	}
	checkListing(t, f, "/api/v1/reloads?", cases, func(r reloader.Reload) string { return r.ID })
}

func TestWorkloadFilters(t *testing.T) {
	f := newFixture(t)
	f.records.PutWorkload(aWorkload("shop", "cart"))
	f.records.PutWorkload(aWorkload("bank", "till"))
	f.records.PutWorkload(aWorkload("shop", "api"))
	east := aWorkload("shop", "api")
	east.Cluster, east.Workload.Kind = "east", "DaemonSet"
	east.Edges[0].Config.Kind, east.Edges[0].Config.Name = reloader.ConfigMap, "settings"
	f.records.PutWorkload(east)
	follower := aWorkload("edge", "proxy")
	follower.Edges[0].Config = reloader.Config{Cluster: "hub", Kind: reloader.ConfigMap, Namespace: "shared", Name: "rules"}
	f.records.PutWorkload(follower)
	cases := map[string]filtered{
		"by namespace and name": {"", []string{"local/bank/Deployment/till", "local/edge/Deployment/proxy", "east/shop/DaemonSet/api", "local/shop/Deployment/api", "local/shop/Deployment/cart"}},
		"cluster":               {"cluster=east", []string{"east/shop/DaemonSet/api"}},
		"namespace":             {"namespace=bank", []string{"local/bank/Deployment/till"}},
		"kind":                  {"kind=DaemonSet", []string{"east/shop/DaemonSet/api"}},
		"name":                  {"name=cart", []string{"local/shop/Deployment/cart"}},
		"config namespace":      {"configNamespace=shared", []string{"local/edge/Deployment/proxy"}},
		"config cluster":        {"configCluster=hub", []string{"local/edge/Deployment/proxy"}},
		"its own cluster":       {"configCluster=east", []string{"east/shop/DaemonSet/api"}},
		"of another's config":   {"configCluster=hub&configNamespace=shop", []string{}},
		"config kind":           {"configKind=ConfigMap", []string{"local/edge/Deployment/proxy", "east/shop/DaemonSet/api"}},
		"config name":           {"configName=password&namespace=shop", []string{"local/shop/Deployment/api", "local/shop/Deployment/cart"}},
		"both of the same edge": {"configKind=ConfigMap&configName=password", []string{}},
	}
	checkListing(t, f, "/api/v1/workloads?", cases, func(w view.Workload) string {
		return w.Cluster + "/" + w.Workload.Namespace + "/" + w.Workload.Kind + "/" + w.Workload.Name
	})
}

func TestCursorOfDroppedRecordsIsGone(t *testing.T) {
	f := newFixtureAt(t, projection.New(projection.Limits{Reloads: 10, Changes: 10}))
	var reloads, changes string
	for n := 1; n <= 16; n++ {
		f.records.AddReload(uint64(n), aReload(n))
		f.records.AddChange(uint64(n), aChange(n))
		switch n {
		case 10: // both point at sequence 6, which is the oldest kept after 15
			reloads = list[reloader.Reload](t, f, "/api/v1/reloads?limit=5").Continue
			changes = list[view.ChangeRow](t, f, "/api/v1/changes?limit=5").Continue
		case 15, 16:
			want := map[int]int{15: http.StatusOK, 16: http.StatusGone}[n]
			if r, c := f.get(t, "/api/v1/reloads?continue="+reloads).Code, f.get(t, "/api/v1/changes?continue="+changes).Code; r != want || c != want {
				t.Errorf("after %d: %d and %d, want %d", n, r, c, want)
			}
		}
	}
}

func TestCursorIsBoundToItsListing(t *testing.T) {
	f := newFixture(t)
	for n := 1; n <= 3; n++ {
		f.records.AddReload(uint64(n), aReload(n))
		f.records.AddChange(uint64(n), aChange(n))
		f.records.PutWorkload(aWorkload("shop", fmt.Sprint(n)))
	}
	cursor := list[reloader.Reload](t, f, "/api/v1/reloads?limit=1&name=cart").Continue
	cases := map[string]struct {
		target string
		code   int
	}{
		"same filters":         {"/api/v1/reloads?limit=1&name=cart&continue=", 200},
		"another limit":        {"/api/v1/reloads?limit=2&name=cart&continue=", 200},
		"one filter more":      {"/api/v1/reloads?limit=1&name=cart&kind=Deployment&continue=", 400},
		"listing of workloads": {"/api/v1/workloads?limit=1&name=cart&continue=", 400},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if w := f.get(t, tc.target+cursor); w.Code != tc.code {
				t.Errorf("got %d, want %d: %s", w.Code, tc.code, w.Body)
			}
		})
	}
}
