//go:build nightly

package queue

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

// putBack makes a stream of a server that runs what it was when it had n messages, of which none had been dropped; as somebody does who restores a
// copy of it.
func putBack(t *testing.T, js jetstream.JetStream, name string, n uint64) {
	t.Helper()
	ctx := testContext(t)
	stream, err := js.Stream(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	var kept []*nats.Msg
	for sequence := uint64(1); sequence <= n; sequence++ {
		m, err := stream.GetMsg(ctx, sequence)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, copied(m.Subject, m.Header, m.Data))
	}
	remake(t, js, stream.CachedInfo().Config, kept)
}

func remake(t *testing.T, js jetstream.JetStream, config jetstream.StreamConfig, kept []*nats.Msg) {
	t.Helper()
	ctx := testContext(t)
	if err := js.DeleteStream(ctx, config.Name); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(ctx, config); err != nil {
		t.Fatal(err)
	}
	for _, m := range kept {
		if _, err := js.PublishMsg(ctx, m); err != nil {
			t.Fatal(err)
		}
	}
}

// TestForwardNoticesUnderALivingConnectionWhatAHubHasLost: the status there is as it was, and says that the hub has everything. What the
// forwarder stored itself proves that it has not.
func TestForwardNoticesUnderALivingConnectionWhatAHubHasLost(t *testing.T) {
	for name, left := range map[string]uint64{"a part": 2, "all": 0} {
		t.Run(name, func(t *testing.T) {
			address := hubServer(t, t.TempDir(), -1).ClientURL()
			sight := hubSight(t, address)
			q := open(t, Options{})
			var log text
			forwarding(t, q, address, "uid-1", &log)
			last := uint64(0)
			for n := range 3 {
				last = edit(t, q, "a", last, n)
			}
			of := edit(t, q, "b", 0, 0)
			arrives(t, q, address)
			eventually(t, "the position", func() bool { return sight().Positions[reloader.ChangeRecords].Sequence == of })
			at := open(t, Options{URL: address, Role: RoleHubAdmin})
			putBack(t, at.js, changesStream, left)
			last = edit(t, q, "a", last, 3)
			arrives(t, q, address)
			eventually(t, "the position", func() bool { return sight().Positions[reloader.ChangeRecords].Sequence == last })
			if gaps := sight().Gaps; len(gaps) > 0 {
				t.Errorf("gaps where nothing is missing: %+v", gaps)
			}
			if strings.Contains(log.String(), "connected to NATS again") {
				t.Error("the connection was not a living one")
			}
		})
	}
}

// TestForwardLooksBeforeItBringsMore: nothing that this session knows of proves that the hub lacks something, and the status does.
func TestForwardLooksBeforeItBringsMore(t *testing.T) {
	address := hubServer(t, t.TempDir(), -1).ClientURL()
	sight := hubSight(t, address)
	q := open(t, Options{})
	stop := forwarding(t, q, address, "uid-1", nil)
	at := open(t, Options{URL: address, Role: RoleHubAdmin})
	clusters, err := at.js.Stream(testContext(t), clustersStream)
	if err != nil {
		t.Fatal(err)
	}
	first := edit(t, q, "a", 0, 0)
	eventually(t, "the position", func() bool { return sight().Positions[reloader.ChangeRecords].Sequence == first })
	var kept []*nats.Msg
	for _, subject := range []string{clusterPrefix + ".blue", statusSubject("blue")} {
		m, err := clusters.GetLastMsgForSubject(testContext(t), subject)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, copied(m.Subject, m.Header, m.Data))
	}
	last := edit(t, q, "a", first, 1)
	last = edit(t, q, "a", last, 2)
	eventually(t, "the position", func() bool { return sight().Positions[reloader.ChangeRecords].Sequence == last })
	stop()
	told := sight().At
	forwarding(t, q, address, "uid-1", nil)
	eventually(t, "its first word", func() bool { return sight().At.After(told) })
	putBack(t, at.js, changesStream, 1)
	remake(t, at.js, clusters.CachedInfo().Config, kept)
	edit(t, q, "a", last, 3)
	arrives(t, q, address)
	if gaps := sight().Gaps; len(gaps) > 0 {
		t.Errorf("gaps where nothing is missing: %+v", gaps)
	}
}

// TestForwardBelievesNothingThatWasSaidBetweenALossAndItsDiscovery: what the hub gets meanwhile says that it has all that was brought before, of which
// some is at neither place any more.
func TestForwardBelievesNothingThatWasSaidBetweenALossAndItsDiscovery(t *testing.T) {
	address := hubServer(t, t.TempDir(), -1).ClientURL()
	sight := hubSight(t, address)
	q := open(t, Options{})
	forwarding(t, q, address, "uid-1", nil)
	last := uint64(0)
	told := func() bool { return sight().Positions[reloader.ChangeRecords].Sequence == last }
	const beyond = 20
	for n := range changesPerConfig + beyond {
		last = edit(t, q, "busy", last, n)
	}
	busy := last
	eventually(t, "the position", told)
	at := open(t, Options{URL: address, Role: RoleHubAdmin})
	putBack(t, at.js, changesStream, 0)
	last = edit(t, q, "new", 0, 0)
	eventually(t, "the position", told)
	last = edit(t, q, "busy", busy, 1)
	arrives(t, q, address)
	eventually(t, "the position", told)
	var missing uint64
	for _, gap := range sight().Gaps {
		missing += gap.Records
	}
	if missing != beyond+1 {
		t.Errorf("%d changes are missing, and told are %+v", beyond+1, sight().Gaps)
	}
}
