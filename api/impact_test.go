package api

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// TestImpactSaysWhetherItIsComplete: that nothing would roll is known only of what everything is known about.
func TestImpactSaysWhetherItIsComplete(t *testing.T) {
	const nowhere = "nowhere/shop/ConfigMap/settings"
	away := func(name string) func(*fixture) {
		return func(f *fixture) {
			s := aStatus()
			s.Cluster, s.At = name, start
			f.records.PutCluster(s)
		}
	}
	cases := map[string]struct {
		reason, target string
		edit           func(*fixture)
		complete       bool
	}{
		"all is known":       {"everybody has told", passwordPath, func(*fixture) {}, true},
		"nobody asks for it": {"that is known, too", "local/shop/ConfigMap/none", func(*fixture) {}, true},
		"some may be paused": {"they are in the answer", passwordPath, pausedByLabels, true},
		"a misspelt cluster": {"nothing is on record about it", nowhere, func(*fixture) {}, false},
		"it has gone silent": {"what is on record may be old", passwordPath, away("local"), false},
		"it is still looking": {"a workload may not be on record yet", passwordPath, func(f *fixture) {
			s := aStatus()
			s.Ready = false
			f.records.PutCluster(s)
		}, false},
		"another has": {"it may follow by now", passwordPath, away("east"), false},
		"it never told of itself": {"its records may still come", "east/shop/ConfigMap/settings", func(f *fixture) {
			w := aWorkload("shop", "cart")
			w.Cluster = "east"
			f.records.PutWorkload(w)
		}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.populate()
			tc.edit(f)
			got := impactOf(t, f, tc.target)
			if got.Complete != tc.complete || !got.Complete && len(got.Warnings) == 0 {
				t.Errorf("%s: complete %t with warnings %q, want %t", tc.reason, got.Complete, got.Warnings, tc.complete)
			}
		})
	}
}

func pausedByLabels(f *fixture) {
	s := aStatus()
	s.Pauses = []reloader.Pause{{Selector: "a=b", Until: time.Now().Add(time.Hour)}}
	f.records.PutCluster(s)
}
