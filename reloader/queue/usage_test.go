package queue

import (
	"errors"
	"math"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/reroll-dev/reroll/reloader"
)

// ofStream returns a metric of a stream.
func ofStream(v *prometheus.GaugeVec, stream string) float64 {
	return testutil.ToFloat64(v.WithLabelValues(stream))
}

func inspect(t *testing.T, q *Queue) usage {
	t.Helper()
	if err := q.inspectStreams(testContext(t)); err != nil {
		t.Fatal(err)
	}
	return q.metrics.usage
}

// TestUsage: the metrics follow what is stored, and the limits are those that were configured.
func TestUsage(t *testing.T) {
	const hintsMax = 1 << 20
	q := open(t, Options{HintsMaxBytes: hintsMax})
	u := inspect(t, q)
	for stream, want := range map[string]float64{hintsStream: hintsMax, reloadsStream: testStore / 4, changesStream: math.Inf(1), workloadsStream: math.Inf(1)} {
		if got := ofStream(u.maxBytes, stream); got != want {
			t.Errorf("the limit of %s is %v; want %v", stream, got, want)
		}
		if got := ofStream(u.bytes, stream); got != 0 {
			t.Errorf("%s has %v bytes before anything is stored", stream, got)
		}
	}
	if got := testutil.ToFloat64(u.maxStore); got != testStore {
		t.Errorf("the limit of the store is %v; want %d", got, testStore)
	}
	if err := q.Put(testContext(t), hints(20)); err != nil {
		t.Fatal(err)
	}
	few := ofStream(inspect(t, q).bytes, hintsStream)
	if err := q.Put(testContext(t), hints(100)[20:]); err != nil {
		t.Fatal(err)
	}
	appendChange(t, q, change("a", "1"), 0)
	if err := q.PutWorkload(testContext(t), record("a")); err != nil {
		t.Fatal(err)
	}
	inspect(t, q)
	info, err := q.streams[hintsStream].Info(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := ofStream(u.bytes, hintsStream); got != float64(info.State.Bytes) || few <= 0 || got < 4*few {
		t.Errorf("20 hints take %v bytes, 100 take %v; the server says %d", few, got, info.State.Bytes)
	}
	for stream, want := range map[string]float64{hintsStream: 100, changesStream: 1, workloadsStream: 1, reloadsStream: 0} {
		if got := ofStream(u.messages, stream); got != want || (ofStream(u.bytes, stream) > 0) != (want > 0) {
			t.Errorf("%s has %v messages with %v bytes; want %v", stream, got, ofStream(u.bytes, stream), want)
		}
	}
	if all := ofStream(u.bytes, hintsStream) + ofStream(u.bytes, changesStream) + ofStream(u.bytes, workloadsStream); testutil.ToFloat64(u.store) != all {
		t.Errorf("the store has %v bytes, its streams %v", testutil.ToFloat64(u.store), all)
	}
}

// TestUsageOfAccount: with an external NATS the store is that of the account.
func TestUsageOfAccount(t *testing.T) {
	s := external(t, t.TempDir(), -1, nil)
	q := open(t, Options{URL: s.ClientURL()})
	if got := testutil.ToFloat64(inspect(t, q).maxStore); !math.IsInf(got, 1) {
		t.Errorf("the limit of an account without one is %v", got)
	}
	const limit = 768 << 20
	err := s.GlobalAccount().UpdateJetStreamLimits(map[string]server.JetStreamAccountLimits{"": {MaxMemory: -1, MaxStore: limit, MaxStreams: -1, MaxConsumers: -1}})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Put(testContext(t), hints(1)); err != nil {
		t.Fatal(err)
	}
	if u := inspect(t, q); testutil.ToFloat64(u.maxStore) != limit || testutil.ToFloat64(u.store) != ofStream(u.bytes, hintsStream) {
		t.Errorf("the account has %v bytes of %v; want those of the hints, %v, of %d", testutil.ToFloat64(u.store), testutil.ToFloat64(u.maxStore), ofStream(u.bytes, hintsStream), limit)
	}
}

// TestFullStoreRefusesEverything: changes have no limit but that of the store, and what they fill is missing for hints, too. The metric of the store
// says so beforehand.
func TestFullStoreRefusesEverything(t *testing.T) {
	q := open(t, Options{MaxStore: 2 << 20})
	full := func() float64 {
		u := inspect(t, q)
		return testutil.ToFloat64(u.store) / testutil.ToFloat64(u.maxStore)
	}
	warned := false
	var err error
	for n := 0; err == nil; n++ {
		c := change(numbered(n).Config.Name, "1")
		c.New.Keys = map[string]string{}
		for k := range 1000 {
			c.New.Keys[numbered(k).Config.Name] = "0123456789abcdef"
		}
		_, err = q.AppendChange(testContext(t), c, 0)
		warned = warned || err == nil && full() > 0.8
	}
	if !errors.Is(err, ErrFull) || !warned || full() < 0.97 {
		t.Errorf("refused with %v at %v of the store; warned before: %t", err, full(), warned)
	}
	if err := q.Put(testContext(t), []reloader.Hint{hint("a")}); !errors.Is(err, ErrFull) {
		t.Errorf("a hint next to changes that fill the store: %v", err)
	}
}
