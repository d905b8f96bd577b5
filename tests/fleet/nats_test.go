package fleet

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader/queue"
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
	clusters := []string{"c1", "c2", "c3"}
	h := &hub{natsserver.StartCluster(t, clusters...), t}
	for _, c := range clusters {
		must(t, line.Poll(ctx, func(ctx context.Context) error {
			_, err := run(ctx, append([]string{"hub", "add", c, "--set", "nats.url=" + h.URL, "--set", "nats.replicas=" + strconv.Itoa(natsserver.Members)}, login(t, "nats", natsserver.HubUser)...)...)
			return err
		}))
	}
	return h
}

// login returns the flags with which a user logs in: those of the NATS of a process, or of a hub.
func login(t *testing.T, of, user string) []string {
	t.Helper()
	return []string{"--set", of + ".user=" + user, "--set", of + ".passwordFile=" + natsserver.PasswordFile(t)}
}

// arrivals are the records of a cluster in a stream of the hub.
type arrivals struct {
	// first is when the hub had the first word with each ID. There may be more: who did it is a later word, and what became of a reload.
	first map[string]time.Time
	// times counts each word: more than one was brought or stored twice.
	times map[string]int
}

// readTime bounds one try to read: a hub that elects a leader leaves a question without an answer.
const readTime = 20 * time.Second

// arrived reads what the hub has of the history of a cluster.
func (h *hub) arrived(ctx context.Context, filter string) (arrivals, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	a := arrivals{first: map[string]time.Time{}, times: map[string]int{}}
	consumer, err := h.JetStream.OrderedConsumer(ctx, queue.HistoryStream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{filter}})
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
	a.times[string(m.Data())]++
	return nil
}
