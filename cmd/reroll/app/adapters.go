package app

import (
	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/dispatcher/notify"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/reloader/queue/hub"
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

func (a announcer) Announce(w *workload.Workload, r reloader.Reload) {
	a.Announcer.Announce(w, r)
	if a.alerts != nil {
		a.alerts.Announce(w, r)
	}
}

// newMember makes the forwarder of the cluster's records to a hub; nil without a hub, or if it could not identify the cluster.
func (p *program) newMember(cluster *kube.Cluster) *hub.Member {
	s := p.settings
	if s.Hub.URL == "" {
		return nil
	}
	if cluster.UID == "" {
		p.logger.Error("nothing is forwarded to the hub: the identity of the cluster, the UID of the namespace kube-system, may not be read")
		return nil
	}
	return hub.New(p.queue, hub.Options{
		Hub: s.Hub.Options(), Cluster: s.ClusterName, UID: cluster.UID, Logger: p.logger, Registerer: p.registry,
	})
}
