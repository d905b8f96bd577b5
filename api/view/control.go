package view

import (
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
)

// Freeze says whether every reload of a cluster is held back.
type Freeze struct {
	Cluster string    `json:"cluster" doc:"The cluster."`
	Frozen  bool      `json:"frozen" doc:"Whether it is frozen."`
	Reason  string    `json:"reason,omitempty" doc:"Why, in the words of who froze it."`
	Until   time.Time `json:"until,omitzero" doc:"When it ends, or has ended, by itself. Absent if never."`
	By      string    `json:"by,omitempty" doc:"Who froze it. Absent if that is not known."`
	Since   time.Time `json:"since,omitzero" doc:"When it was frozen. Absent if that is not known."`
}

// Pause holds back some workloads of a cluster.
type Pause struct {
	Cluster   string    `json:"cluster" doc:"The cluster."`
	Namespace string    `json:"namespace,omitempty" doc:"The namespace whose workloads are held back. Absent if those of all are."`
	Selector  string    `json:"selector" doc:"The label selector of the workloads. Empty if it selects all." example:"app=cart"`
	Until     time.Time `json:"until" doc:"When it ends."`
	Reason    string    `json:"reason,omitempty" doc:"Why, in the words of who paused them."`
	By        string    `json:"by,omitempty" doc:"Who paused them. Absent if that is not known."`
}

// Window is a time that comes again and again, in which the reloads of a cluster are let go.
type Window struct {
	Cluster  string    `json:"cluster" doc:"The cluster."`
	Schedule string    `json:"schedule" doc:"When it opens, in the five fields of cron, and how long it stays open." example:"0 22 * * 1-5 6h"`
	Open     bool      `json:"open" doc:"Whether it was open when the dispatcher last published its status."`
	Next     time.Time `json:"next,omitzero" doc:"When it opens next. Absent if never."`
}

func fromFreeze(cluster string, f reloader.Freeze, now time.Time) Freeze {
	frozen := f.Frozen && (f.Until.IsZero() || f.Until.After(now))
	return Freeze{Cluster: cluster, Frozen: frozen, Reason: f.Reason, Until: f.Until, By: f.By, Since: f.Since}
}

// FromFreeze returns the freeze of a cluster, which may have ended.
func FromFreeze(c *projection.ClusterState, now time.Time) Freeze {
	if c.Status == nil {
		return Freeze{Cluster: c.Name}
	}
	return fromFreeze(c.Name, c.Status.Freeze, now)
}

// FromPauses returns the pauses of a cluster that have not ended.
func FromPauses(c *projection.ClusterState, now time.Time) []Pause {
	pauses := []Pause{}
	if c.Status == nil {
		return pauses
	}
	for _, p := range c.Status.Pauses {
		if p.Until.After(now) {
			pauses = append(pauses, Pause{Cluster: c.Name, Namespace: p.Namespace, Selector: p.Selector, Until: p.Until, Reason: p.Reason, By: p.By})
		}
	}
	return pauses
}

// FromWindows returns the windows of a cluster.
func FromWindows(c *projection.ClusterState) []Window {
	windows := []Window{}
	if c.Status == nil {
		return windows
	}
	for _, w := range c.Status.Windows {
		windows = append(windows, Window{Cluster: c.Name, Schedule: w.Schedule, Open: w.Open, Next: w.Next})
	}
	return windows
}
