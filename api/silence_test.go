package api

import (
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/api/view"
)

// TestSilenceIsMeasuredHere: the clock of a cluster may be any; when its status came is told by the clock of where it came.
func TestSilenceIsMeasuredHere(t *testing.T) {
	for name, tc := range map[string]struct {
		at, stored time.Duration
		health     view.Health
	}{
		"a clock that is behind":          {at: -time.Hour, stored: -time.Second, health: view.Healthy},
		"a clock that is ahead, and away": {at: time.Hour, stored: -2 * time.Minute, health: view.Away},
		"nobody says when it came":        {at: -2 * time.Minute, health: view.Away},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			s, now := aStatus(), time.Now()
			s.At = now.Add(tc.at)
			if tc.stored != 0 {
				s.StoredAt = now.Add(tc.stored)
			}
			f.records.PutCluster(s)
			got := list[view.Cluster](t, f, "/api/v1/clusters?name=local").Items[0]
			if got.Health != tc.health || tc.health == view.Away && !strings.Contains(got.Problems[0], "no status for 2m") {
				t.Errorf("got %s %q, want %s", got.Health, got.Problems, tc.health)
			}
		})
	}
}

// TestClusterWithoutStatusIsWarnedOf: what is on record of it may be all there is, or what somebody left.
func TestClusterWithoutStatusIsWarnedOf(t *testing.T) {
	f := newFixture(t)
	c := aChange(1)
	c.Cluster = "west"
	f.records.AddChange(1, c)
	f.records.PutCluster(aStatus())
	page := list[view.ChangeRow](t, f, "/api/v1/changes")
	if len(page.Warnings) != 1 || !strings.Contains(page.Warnings[0], "Cluster west: No dispatcher") {
		t.Errorf("got %q", page.Warnings)
	}
}
