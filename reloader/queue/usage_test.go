package queue

import (
	"errors"
	"fmt"
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

// withKeys returns a change of a config that has so many keys.
func withKeys(name, sum string, keys int) reloader.Change {
	c := change(name, sum)
	c.New.Keys = map[string]string{}
	for k := range keys {
		c.New.Keys[numbered(k).Config.Name] = "0123456789abcdef"
	}
	c.ID = reloader.ChangeID(c)
	return c
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
		_, err = q.AppendChange(testContext(t), withKeys(numbered(n).Config.Name, "1", 1000), 0)
		warned = warned || err == nil && full() > 0.8
	}
	if !errors.Is(err, ErrFull) || !warned || full() < 0.97 {
		t.Errorf("refused with %v at %v of the store; warned before: %t", err, full(), warned)
	}
	if err := q.Put(testContext(t), []reloader.Hint{hint("a")}); !errors.Is(err, ErrFull) {
		t.Errorf("a hint next to changes that fill the store: %v", err)
	}
}

// TestLargeConfigsFillNoStore: configs with very many keys that are edited again and again take room for a few changes each; the newest is always
// there, and a config with few keys keeps as many changes as the stream does.
func TestLargeConfigsFillNoStore(t *testing.T) {
	q := open(t, Options{MaxStore: 16 << 20})
	const configs, edits = 4, 70
	for n := range configs {
		name := numbered(n).Config.Name
		keys := []int{12_000, 5_000, 1_000, 1}[n]
		size := 0
		var last uint64
		for e := range edits {
			c := withKeys(name, fmt.Sprint(e), keys)
			data, err := reloader.Encode(c)
			if err != nil {
				t.Fatal(err)
			}
			size = len(data)
			last = appendChange(t, q, c, last)
		}
		kept := changesOf(t, q, name)
		if n := len(kept); n < leastHistory || n > leastHistory && n*size > maxHistory || n < changesPerConfig && (n+2)*size < maxHistory {
			t.Errorf("%d changes of %d bytes are kept", n, size)
		}
		if newest := kept[len(kept)-1]; newest.Sequence != last || newest.Change.New.Sum != fmt.Sprint(edits-1) || len(newest.Change.New.Keys) != keys {
			t.Errorf("the newest that is kept is at %d, with the content %s and %d keys", newest.Sequence, newest.Change.New.Sum, len(newest.Change.New.Keys))
		}
	}
}

// TestConfigThatIsEditedAllTheTime: however often one config is edited while nobody handles hints, it takes little of their room, and what others
// have edited is not dropped for it.
func TestConfigThatIsEditedAllTheTime(t *testing.T) {
	q := open(t, Options{HintsMaxBytes: 64 << 10})
	if err := q.Put(testContext(t), []reloader.Hint{hint("quiet")}); err != nil {
		t.Fatal(err)
	}
	for n := range 100 {
		many := make([]reloader.Hint, 10)
		for i := range many {
			many[i] = hint("busy")
			many[i].AuditID = fmt.Sprint(n, i)
		}
		if err := q.Put(testContext(t), many); err != nil {
			t.Fatalf("after %d edits: %v", 10*n, err)
		}
	}
	if got := ofStream(inspect(t, q).messages, hintsStream); got != hintsPerConfig+1 {
		t.Errorf("%v hints are kept; want %d of the busy config and that of the quiet one", got, hintsPerConfig)
	}
	if !hasHint(t, q, "quiet") {
		t.Error("the hint about the quiet config is gone")
	}
}
