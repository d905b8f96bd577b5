package app

import (
	"context"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/queue"
)

// newForwarder makes what brings the records of the cluster to a hub; nil if there is no hub, or if it could not tell clusters apart.
func (p *program) newForwarder(cluster *kube.Cluster) (*queue.Forwarder, error) {
	s := p.settings
	if s.Hub.URL == "" {
		return nil, nil
	}
	if cluster.UID == "" {
		p.logger.Error("nothing is forwarded to the hub: the identity of the cluster, the UID of the namespace kube-system, may not be read")
		return nil, nil
	}
	o := s.Hub.options()
	o.Name = "reroll-" + s.ClusterName
	return p.queue.NewForwarder(queue.ForwardOptions{
		Hub: o, Cluster: s.ClusterName, UID: cluster.UID, Logger: p.logger, Registerer: p.registry,
	})
}

// forward brings records to the hub until ctx ends.
func (p *program) forward(ctx context.Context, d *dispatcher.Dispatcher) {
	to := queue.Following{Followed: d.Followed, Received: d.Receive, Wanted: d.Wanted}
	if err := p.forwarder.Run(ctx, to); err != nil && ctx.Err() == nil {
		p.fail(err)
	}
}
