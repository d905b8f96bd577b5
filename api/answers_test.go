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

func TestStats(t *testing.T) {
	f := populated(t)
	refused := aReload(9)
	refused.ID, refused.Outcome, refused.PatchedAt, refused.LatencySeconds, refused.Workload.Name = "r-9", reloader.ReasonRefused, time.Time{}, 0, "till"
	f.records.AddReload(9, refused)
	frozen := aReload(10)
	frozen.ID, frozen.Workload.Name = "r-10", "frozen"
	f.records.AddReload(10, frozen)
	baseline := aChange(5)
	baseline.Type, baseline.ID = reloader.ChangeBaseline, "c-5"
	f.records.AddChange(5, baseline)
	s := get1[view.Stats](t, f, "/api/v1/stats?since=2026-11-21T12:00:00Z&until=2026-11-21T12:01:30Z")
	if len(s.Buckets) != 45 || s.Buckets[1].Start != start.Add(2*time.Second) || s.Total.Changes != 4 {
		t.Fatalf("got %+v", s)
	}
	if diff := cmp.Diff(map[reloader.Reason]int{reloader.ReasonRefused: 1, reloader.ReasonReloaded: 4}, s.Total.Outcomes); diff != "" {
		t.Error(diff)
	}
	if l := s.Total.Latency; l == nil || l.P50 != 1.35 || l.P95 != 1.35 {
		t.Errorf("latency %+v", l)
	}
	changes, reloads := 0, 0
	for _, b := range s.Buckets {
		changes += b.Changes
		reloads += b.Outcomes[reloader.ReasonReloaded]
	}
	if changes != 4 || reloads != 4 || s.Buckets[1].Changes != 2 || s.Buckets[5].Outcomes[reloader.ReasonReloaded] != 1 {
		t.Errorf("buckets do not add up: %+v", s.Buckets)
	}
	if len(s.Workloads) != 2 || s.Workloads[0].Name != "cart" || s.Workloads[0].Count != 3 || s.Configs[0].Name != "settings" {
		t.Errorf("most frequent: %+v %+v", s.Workloads, s.Configs)
	}
	if s := get1[view.Stats](t, f, "/api/v1/stats?cluster=east&since=2026-11-21T12:00:00Z&until=2026-11-21T12:00:12Z"); s.Total.Changes+len(s.Total.Outcomes) != 0 {
		t.Errorf("of another cluster: %+v", s.Total)
	}
}

// Following the cursors visits everything once, whatever the size of a page.
func TestPagesOfEveryListing(t *testing.T) {
	f := populated(t)
	for n := range 7 {
		w := aWorkload("shop", fmt.Sprint("w-", n))
		w.Edges = append(w.Edges, w.Edges[0], w.Edges[0])
		w.Edges[1].Config.Name, w.Edges[2].Config.Name = fmt.Sprint("b-", n), fmt.Sprint("a-", n)
		f.records.PutWorkload(w)
		s := aStatus()
		s.Cluster, s.Freeze = fmt.Sprint("c-", n), &reloader.Pause{}
		f.records.PutCluster(s)
	}
	for _, path := range []string{"clusters", "workloads", "changes", "changes?configKind=ConfigMap", "workloads?unsettled=true"} {
		target := "/api/v1/" + path
		join := "?"
		if strings.Contains(path, "?") {
			join = "&"
		}
		whole := list[any](t, f, target+join+"limit=500").Items
		if len(whole) < 3 {
			t.Errorf("%s lists %d", path, len(whole))
		}
		var pages []any
		cursor := ""
		for range len(whole) + 1 {
			page := list[any](t, f, target+join+"limit=2&continue="+cursor)
			pages = append(pages, page.Items...)
			if cursor = page.Continue; cursor == "" {
				break
			}
		}
		if diff := cmp.Diff(whole, pages); diff != "" {
			t.Errorf("%s in pages (-whole +pages):\n%s", path, diff)
		}
	}
}
