package view

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// Cluster is one cluster: where its hints come from, how far it is, and what holds it back.
type Cluster struct {
	reloader.ClusterStatus
	verdict.Standing
	LastChangeAt time.Time           `json:"lastChangeAt,omitzero" doc:"When the newest change was verified. Absent if none is on record."`
	LastReloadAt time.Time           `json:"lastReloadAt,omitzero" doc:"When the newest reload was decided. Absent if none is on record."`
	Forward      []reloader.Position `json:"forward,omitempty" doc:"For each stream, how far the cluster's records have come to the hub that answers. Absent unless this is a hub."`
}

// FromCluster returns the view of c at a time: without the freeze and the pauses that have ended.
func FromCluster(c *projection.ClusterState, now time.Time) Cluster {
	v := Cluster{Forward: c.Positions, Standing: verdict.OfCluster(c.Status, c.Positions, now)}
	if c.Status != nil {
		v.ClusterStatus = *c.Status
	}
	if v.Cluster, v.Workloads = c.Name, c.Workloads; !v.Freeze.On(now) {
		v.Freeze = nil
	}
	v.Pauses = slices.DeleteFunc(slices.Clone(v.Pauses), func(p reloader.Pause) bool { return !p.On(now) })
	if c.LastChange != nil {
		v.LastChangeAt = c.LastChange.VerifiedAt
	}
	if c.LastReload != nil {
		v.LastReloadAt = c.LastReload.DecidedAt
	}
	return v
}
