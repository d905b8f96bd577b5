package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
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

func TestImpactIsNotCompleteWhileRecordsAreRead(t *testing.T) {
	f := newFixtureAt(t, projection.New(projection.Limits{}))
	f.populate()
	if got := impactOf(t, f, passwordPath); got.Complete || len(got.Warnings) == 0 {
		t.Errorf("%+v", got)
	}
	f.records.SetCaughtUp()
	if got := impactOf(t, f, passwordPath); !got.Complete {
		t.Errorf("when all is read: %+v", got)
	}
}

func TestBulkImpactIsAsCompleteAsItsParts(t *testing.T) {
	f := newFixture(t)
	f.populate()
	ask := func(clusters ...string) (answer view.Impacts) {
		var configs []string
		for _, c := range clusters {
			configs = append(configs, `{"cluster":"`+c+`","kind":"Secret","namespace":"shop","name":"password"}`)
		}
		w := f.post(t, "/api/v1/impact", `{"configs":[`+strings.Join(configs, ",")+`]}`)
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK || len(answer.Items) != len(clusters) {
			t.Fatalf("%v: %d %s", err, w.Code, w.Body)
		}
		return answer
	}
	if got := ask("local", "local"); !got.Complete || !got.Items[0].Complete || !got.Items[1].Complete {
		t.Errorf("of two known ones: %+v", got)
	}
	if got := ask("local", "nowhere"); got.Complete || !got.Items[0].Complete || got.Items[1].Complete {
		t.Errorf("of one known and one unknown: %+v", got)
	}
}
