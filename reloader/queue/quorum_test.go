//go:build nightly

package queue

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

func TestQuorum(t *testing.T) {
	here, gone := &jetstream.PeerInfo{Current: true}, &jetstream.PeerInfo{Offline: true}
	behind, silent := &jetstream.PeerInfo{Lag: 7, Active: maxSilence - 1}, &jetstream.PeerInfo{Current: true, Active: maxSilence}
	never := &jetstream.PeerInfo{Lag: 7}
	for name, tc := range map[string]struct {
		cluster *jetstream.ClusterInfo
		lost    bool
	}{
		"no cluster":            {nil, false},
		"one replica":           {&jetstream.ClusterInfo{Leader: "a"}, false},
		"three of three":        {&jetstream.ClusterInfo{Leader: "a", Replicas: []*jetstream.PeerInfo{here, here}}, false},
		"two of three":          {&jetstream.ClusterInfo{Leader: "a", Replicas: []*jetstream.PeerInfo{gone, here}}, false},
		"one that is behind":    {&jetstream.ClusterInfo{Leader: "a", Replicas: []*jetstream.PeerInfo{gone, behind}}, false},
		"one of three":          {&jetstream.ClusterInfo{Leader: "a", Replicas: []*jetstream.PeerInfo{gone, gone}}, true},
		"two are silent":        {&jetstream.ClusterInfo{Leader: "a", Replicas: []*jetstream.PeerInfo{silent, silent}}, true},
		"one is silent":         {&jetstream.ClusterInfo{Leader: "a", Replicas: []*jetstream.PeerInfo{silent, here}}, false},
		"one was never heard":   {&jetstream.ClusterInfo{Leader: "a", Replicas: []*jetstream.PeerInfo{silent, never}}, true},
		"one of each":           {&jetstream.ClusterInfo{Leader: "a", Replicas: []*jetstream.PeerInfo{silent, gone}}, true},
		"nobody leads":          {&jetstream.ClusterInfo{Replicas: []*jetstream.PeerInfo{here, here, here}}, true},
		"two of five":           {&jetstream.ClusterInfo{Leader: "a", Replicas: []*jetstream.PeerInfo{gone, gone, gone, here}}, true},
		"half of an even count": {&jetstream.ClusterInfo{Leader: "a", Replicas: []*jetstream.PeerInfo{gone}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := quorum(tc.cluster); (err != nil) != tc.lost {
				t.Errorf("quorum lost should be %v, not: %v", tc.lost, err)
			}
		})
	}
}
