package view

import (
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
)

// TestLagIsByTheClockOfTheCluster: whoever reads the status may have another clock, and reads it later.
func TestLagIsByTheClockOfTheCluster(t *testing.T) {
	at := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		oldest time.Time
		want   float64
	}{
		"nothing on its way, or an older dispatcher": {time.Time{}, 0},
		"a minute and a half":                        {at.Add(-90500 * time.Millisecond), 90.5},
		"a clock that was set back":                  {at.Add(time.Second), 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := &reloader.ClusterStatus{Cluster: "c1", At: at, Ready: true, OldestPendingAt: tc.oldest, HintsPending: 3}
			c := FromCluster(&projection.ClusterState{Name: "c1", Status: s}, at.Add(time.Hour))
			if c.LagSeconds != tc.want || !c.OldestPendingAt.Equal(tc.oldest) || c.HintsPending != 3 {
				t.Errorf("got %+v, want a lag of %g s", c, tc.want)
			}
		})
	}
}

func TestStorage(t *testing.T) {
	at := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	for ephemeral, want := range map[bool]string{false: "", true: "--set persistence.enabled=true"} {
		s := &reloader.ClusterStatus{Cluster: "c1", At: at, Ready: true, Ephemeral: ephemeral}
		c := FromCluster(&projection.ClusterState{Name: "c1", Status: s}, at)
		if (c.Storage == "") != (want == "") || !strings.Contains(c.Storage, want) {
			t.Errorf("ephemeral: %t, storage: %q", ephemeral, c.Storage)
		}
		if c.Health != Healthy {
			t.Errorf("ephemeral: %t makes the cluster %s", ephemeral, c.Health)
		}
	}
}
