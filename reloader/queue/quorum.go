package queue

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// maxSilence is for how long a server that holds a stream may not have been heard of by its leader, to whose heartbeat it answers every
// second.
const maxSilence = 5 * time.Second

// quorum returns an error if nobody leads a stream, or no more than half of the servers that hold it are there. The leader of one believes
// in itself for ten to twenty seconds after the others are gone, and whoever is left answers questions, while nothing can be stored. Only
// servers that end in order are offline at once; of those that crash or are cut off it says for how long they have been silent, which is
// zero for those that this leader has never heard. nil is a server that is no cluster.
func quorum(c *jetstream.ClusterInfo) error {
	if c == nil {
		return nil
	}
	if c.Leader == "" {
		return errors.New("no quorum: nobody leads it")
	}
	held, there := 1+len(c.Replicas), 1
	for _, r := range c.Replicas {
		if !r.Offline && r.Active < maxSilence && (r.Active > 0 || r.Current) {
			there++
		}
	}
	if 2*there <= held {
		return fmt.Errorf("no quorum: of the %d servers that hold it, %d can be reached", held, there)
	}
	return nil
}
