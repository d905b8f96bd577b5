package app

import (
	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/dispatcher/notify"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/reloader/workload"
)

func follower(p *projection.Projection) queue.Follower {
	return queue.Follower{CaughtUp: p.SetCaughtUp, Reset: p.Reset, Event: func(e queue.Event) {
		switch {
		case e.Change != nil:
			p.AddChange(e.Sequence, *e.Change)
		case e.Reload != nil:
			p.AddReload(e.Sequence, *e.Reload)
		case e.Workload != nil:
			p.PutWorkload(*e.Workload)
		case e.Gone != nil:
			p.DeleteWorkload(e.Cluster, *e.Gone)
		case e.Status != nil:
			p.PutCluster(*e.Status)
		case e.Position != nil:
			p.PutPosition(e.Cluster, *e.Position)
		}
	}}
}

// announcer announces reloads as Events, and as alerts if there are any.
type announcer struct {
	*kube.Announcer
	alerts *notify.Alerts
}

// Announce announces a reload.
func (a announcer) Announce(w *workload.Workload, r reloader.Reload) {
	a.Announcer.Announce(w, r)
	if a.alerts != nil {
		a.alerts.Announce(w, r)
	}
}
