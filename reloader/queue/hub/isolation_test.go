package hub_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/reloader/queue/hub"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

// confidential is a word in everything that c1 stores at the hub.
const confidential = "not-for-c2"

// TestIsolation: with its own account and without Reroll, c2 neither reads nor writes what belongs to c1 or is meant for c3.
func TestIsolation(t *testing.T) {
	isolated(t, natsserver.StartHub(t, []string{"c1", "c2", "c3"}).ClientURL())
}

func isolated(t *testing.T, url string) {
	t.Helper()
	q, seen := local(t, t.TempDir()), follow(t, url)
	appendChanges(t, q, "c1", 0, 2)
	c1, _ := member(t, q, url, "c1", "uid-1", newHears().following(nothing))
	seen.has(t, "c1", 0, 2)
	toC3 := newHears()
	member(t, local(t, t.TempDir()), url, "c3", "uid-3", toC3.following(nothing))

	c2, err := queue.Dial(natsserver.Login(t, url, "c2"))
	must(t, err)
	t.Cleanup(c2.NATS.Close)
	heard, err := c2.NATS.SubscribeSync(">")
	must(t, err)
	c1.Send(reloader.Copy{Owner: "c1", Target: "c3", Config: flags, Refused: confidential, At: epoch})
	next(t, toC3.copies)
	for {
		m, err := heard.NextMsg(100 * time.Millisecond)
		if err != nil {
			break
		}
		if strings.Contains(string(m.Data), confidential) {
			t.Errorf("c2 hears %s: %s", m.Subject, m.Data)
		}
	}
	if err := heard.Unsubscribe(); err != nil { // it would answer the requests that follow
		t.Fatal(err)
	}
	seen.eventually(t, func() error {
		if len(seen.positions) < 4 {
			return fmt.Errorf("not all have written their first positions: %v", seen.positions)
		}
		return nil
	})
	before := stored(t, url)
	for _, try := range []struct{ subject, body string }{
		{"reroll.change.c1.configmap.shop.x", "{}"},
		{"reroll.change.c2.configmap.shop.x", "{}"},
		{"hub.reroll.change.c1.configmap.shop.x", "{}"},
		{"hub.reroll.workload.c1.deployment.shop.web", ""},
		{"hub.reroll.at.c1.HISTORY", "{}"},
		{"hub.reroll.cluster.c1.status", "{}"},
		{"hub.reroll.cluster.c1.removed", ""},
		{"hub.reroll.copy.c1.c3.configmap.shop.flags", "{}"},
		{"hub.reroll.copy.c1.c2.configmap.shop.flags", "{}"},
		{"hub.reroll.want.c3.c1", "{}"},
		{"hub.deliver", `{"owner":"c1","target":"c3"}`},
		{"deliver.c3", `{"owner":"c1","target":"c3"}`},
		{"hub.get.HISTORY.reroll.at.c1.HISTORY", ""},
		{"hub.get.HISTORY.reroll.change.c1.configmap.shop.config-1", ""},
		{"hub.get.FOLLOW.reroll.copy.c1.c3.configmap.shop.flags.v2", ""},
		{"hub.get.HISTORY.reroll.change.*.configmap.shop.config-1", ""},
		{"hub.get.HISTORY.reroll.change.c2.x", `{"seq":1}`},
		{"hub.get.HISTORY.reroll.change.c2.x", `{"last_by_subj":"reroll.change.c1.configmap.shop.config-1"}`},
		{"hub.get.HISTORY.reroll.change.c2.x", `{"multi_last":[">"]}`},
		{"$JS.API.DIRECT.GET.HISTORY.reroll.change.c1.configmap.shop.config-1", ""},
		{"$JS.API.STREAM.INFO.HISTORY", `{"subjects_filter":">"}`},
		{"$JS.API.STREAM.MSG.GET.HISTORY", `{"seq":1}`},
		{"$JS.API.STREAM.PURGE.HISTORY", ""},
		{"$JS.API.STREAM.DELETE.HISTORY", ""},
		{"$JS.API.CONSUMER.CREATE.FOLLOW", `{"stream_name":"FOLLOW","config":{"ack_policy":"none","deliver_subject":"x"}}`},
		{"$JS.API.CONSUMER.DELETE.FOLLOW.c3", ""},
		{"$JS.API.CONSUMER.MSG.NEXT.FOLLOW.c3", "1"},
		{"$JS.ACK.FOLLOW.c3.1.1.1.1.0", "+ACK"},
		{"$JS.ACK._.HUB.FOLLOW.c3.1.1.1.1.0.x", "+ACK"},
		{"$JS.ACK._.c2.FOLLOW.c3.1.1.1.1.0.x", "+ACK"},
	} {
		answer, err := c2.NATS.Request(try.subject, []byte(try.body), 10*time.Second)
		refused := errors.Is(err, nats.ErrNoResponders)
		if err == nil {
			refused = answer.Header.Get("Status") != "" || strings.Contains(string(answer.Data), `"error"`)
		}
		if !refused || err == nil && strings.Contains(string(answer.Data), "config-") {
			t.Errorf("%s %s is answered: %v %+v", try.subject, try.body, err, answer)
		}
	}
	forgeByAnswers(t, c2.NATS)
	if after := stored(t, url); after != before {
		t.Errorf("the hub has %v, and had %v", after, before)
	}
	if _, err := c2.NATS.Request("hub.reroll.want.c2.c1", []byte("{}"), 10*time.Second); err != nil || stored(t, url) == before {
		t.Errorf("c2 cannot write what is its own: %v", err)
	}
}

// forgeByAnswers has servers send their answers to subjects of another cluster.
func forgeByAnswers(t *testing.T, nc *nats.Conn) {
	t.Helper()
	for _, reply := range []string{"reroll.change.c1.configmap.shop.forged", "hub.reroll.change.c1.configmap.shop.forged"} {
		must(t, nc.PublishRequest("hub.get.HISTORY.reroll.at.c2.HISTORY", reply, nil))
	}
	must(t, nc.FlushTimeout(10*time.Second))
}

// stored returns the last sequence of each stream of a hub.
func stored(t *testing.T, url string) (last [3]uint64) {
	t.Helper()
	for i, name := range hub.Streams {
		info, err := streamOf(t, url, name).Info(t.Context())
		must(t, err)
		last[i] = info.State.LastSeq
	}
	return last
}
