package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

// hub is a NATS cluster that is set up as one.
type hub struct {
	*natsserver.Cluster
	t *testing.T
}

func startHub(ctx context.Context, t *testing.T) *hub {
	t.Helper()
	h := &hub{natsserver.StartCluster(t), t}
	must(t, line.Poll(ctx, func(ctx context.Context) error {
		_, err := run(ctx, "nats", "setup", "--nats-url", h.URL, "--role", "hub", "--nats-replicas", strconv.Itoa(natsserver.Members), "--nats-store-size", "1Gi")
		return err
	}))
	return h
}

// arrivals are the records of a cluster in a stream of the hub.
type arrivals struct {
	// first is when the hub had the first word with each ID. There may be more: who did it is a later word, and what became of a reload.
	first map[string]time.Time
	// times counts each place in the stream of the cluster that a word comes from, and each word: more than one was brought or stored twice.
	times map[string]int
}

// arrived reads what the hub has of a cluster.
func (h *hub) arrived(ctx context.Context, stream, filter string) (arrivals, error) {
	a := arrivals{first: map[string]time.Time{}, times: map[string]int{}}
	consumer, err := h.JetStream.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{filter}})
	if err != nil {
		return a, err
	}
	for {
		batch, err := consumer.FetchNoWait(1000)
		if err != nil {
			return a, err
		}
		n := 0
		for m := range batch.Messages() {
			if err := a.add(m); err != nil {
				return a, err
			}
			n++
		}
		if n == 0 {
			return a, batch.Error()
		}
	}
}

func (a arrivals) add(m jetstream.Msg) error {
	var r struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(m.Data(), &r); err != nil {
		return err
	}
	meta, err := m.Metadata()
	if err != nil {
		return err
	}
	if _, known := a.first[r.ID]; !known {
		a.first[r.ID] = meta.Timestamp
	}
	origin := m.Headers().Get("Reroll-Origin")
	if origin == "" {
		return line.Stop(fmt.Errorf("%s does not say where it comes from", r.ID))
	}
	a.times[r.ID+" of "+origin]++
	a.times[string(m.Data())]++
	return nil
}
