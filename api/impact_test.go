package api

import (
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

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
			f := newFixture(t)
			f.populate()
			tc.edit(f)
			got := impactOf(t, f, tc.target)
			if warnings := strings.Join(got.Warnings, "\n"); got.Complete != (tc.warns == "") || !strings.Contains(warnings, tc.warns) || tc.warns != "" && warnings == "" {
				t.Errorf("complete %t with warnings %q, want %q", got.Complete, got.Warnings, tc.warns)
			}
		})
	}
}
