package app

import (
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/queue/hub"
)

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
