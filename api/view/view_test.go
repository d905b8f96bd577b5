package view

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

var now = time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)

// TestClusterNow: a freeze and a pause that have ended are not shown, and what is stored stays as it is.
func TestClusterNow(t *testing.T) {
	over, later := now.Add(-time.Minute), now.Add(time.Minute)
	s := &reloader.ClusterStatus{
		Cluster: "c1",
		At:      now,
		Ready:   true,
		Backlog: reloader.Backlog{Freeze: &reloader.Pause{Until: over, By: "alice"}, Pauses: []reloader.Pause{{Until: over}, {Until: later}}},
	}
	c := FromCluster(&projection.ClusterState{Name: "c1", Status: s, Workloads: 3}, now)
	if diff := cmp.Diff([]reloader.Pause{{Until: later}}, c.Pauses); diff != "" || c.Freeze != nil || c.Workloads != 3 || c.Health != verdict.Healthy {
		t.Errorf("%+v %s", c, diff)
	}
	if len(s.Pauses) != 2 || s.Freeze == nil {
		t.Errorf("the record has changed: %+v", s)
	}
	if c := FromCluster(&projection.ClusterState{Name: "c2"}, now); c.Cluster != "c2" || c.Health != verdict.Unknown {
		t.Errorf("%+v", c)
	}
}
