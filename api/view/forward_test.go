package view

import (
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
)

func TestFromClusterTellsOfGapsAtAHub(t *testing.T) {
	now := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	status := reloader.ClusterStatus{Cluster: "c2", At: now, Ready: true}
	state := &projection.ClusterState{Name: "c2", Status: &status}
	if v := FromCluster(state, now); v.Forward != nil || v.Health != Healthy {
		t.Errorf("no hub: %+v, health %s", v.Forward, v.Health)
	}
	status.Forward = &reloader.Forwarding{
		At:        now,
		Positions: map[reloader.RecordKind]reloader.Position{reloader.ChangeRecords: {Behind: 2}, reloader.ReloadRecords: {Behind: 3}},
		Gaps:      []reloader.Gap{{Kind: reloader.ChangeRecords, Why: reloader.GapAgedOut, Records: 20, At: now}},
	}
	v := FromCluster(state, now)
	if v.Forward.Behind != 5 || len(v.Forward.Gaps) != 1 || v.Forward.Gaps[0].Missing != 20 {
		t.Errorf("got %+v", v.Forward)
	}
	if v.Health != Degraded || !strings.Contains(strings.Join(v.Problems, " "), "Up to 20 changes are missing") {
		t.Errorf("a gap is no problem: %s %q", v.Health, v.Problems)
	}
	status.At = now.Add(2 * GapTime)
	if v := FromCluster(state, now.Add(2*GapTime)); v.Health != Healthy || len(v.Forward.Gaps) != 1 {
		t.Errorf("an old gap: %s %q", v.Health, v.Problems)
	}
}
