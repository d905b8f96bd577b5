//go:build nightly

package queue

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

// forwardOne returns the forwarder of the changes of blue at a hub, which was told of nothing yet.
func forwardOne(t *testing.T, q *Queue) (*forwardStream, *hub) {
	t.Helper()
	address := hubServer(t, t.TempDir(), -1).ClientURL()
	f, err := q.NewForwarder(ForwardOptions{Hub: Options{URL: address}, Cluster: "blue", UID: "uid-1", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	h := newHub(open(t, Options{URL: address, Role: RoleForward}))
	if err := f.begin(testContext(t), h); err != nil {
		t.Fatal(err)
	}
	s := f.streams[0]
	s.proofs = map[uint64]uint64{}
	return s, h
}

// TestForwardWaitsForAServerThatLags: the server that hands over the records has not got the last ones yet, and the one that leads says that
// they are there.
func TestForwardWaitsForAServerThatLags(t *testing.T) {
	for name, lost := range map[string]uint64{"all come": 0, "the last two are gone by then": 2} {
		t.Run(name, func(t *testing.T) {
			q := open(t, Options{})
			s, h := forwardOne(t, q)
			const last, handedOver = 10, 7
			for n := range last {
				edit(t, q, string(rune('a'+n)), 0, n)
			}
			s.at = reloader.Position{Sequence: handedOver}
			stream, err := q.js.Stream(testContext(t), changesStream)
			if err != nil {
				t.Fatal(err)
			}
			s.at.Stream, s.seen, s.whole, s.alone = streamIdentity(stream.CachedInfo()), handedOver, handedOver, true
			check := func(want uint64, missing uint64) {
				t.Helper()
				got := s.f.position(reloader.ChangeRecords)
				var n uint64
				for _, g := range s.f.newest().Forward.Gaps {
					n += g.Records
				}
				if got.Sequence != want || n != missing {
					t.Errorf("the hub is at %d and %d are missing, want %d and %d", got.Sequence, n, want, missing)
				}
			}
			r := reading{stream: changesStream, filter: changePrefix + ".blue.>", after: handedOver}
			if err := s.caughtUp(testContext(t), h, r.filter, last); err != nil {
				t.Fatal(err)
			}
			check(handedOver, 0)
			for n := range lost {
				if err := stream.DeleteMsg(testContext(t), last-n); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(testContext(t))
			defer cancel()
			err = q.read(ctx, r, func(msg jetstream.Msg, sequence uint64) error { return s.take(ctx, h, msg, sequence) },
				func() error { return errors.Join(s.caughtUp(ctx, h, r.filter, last), errAllRead) })
			if !errors.Is(err, errAllRead) {
				t.Fatal(err)
			}
			check(last, lost)
		})
	}
}

// TestOnlyWhatIsGoneIsPassed: up to the first that is there.
func TestOnlyWhatIsGoneIsPassed(t *testing.T) {
	for name, c := range map[string]struct {
		is   jetstream.StreamState
		want uint64
	}{
		"all are there":            {jetstream.StreamState{FirstSeq: 1, LastSeq: 10}, 4},
		"the next are gone":        {jetstream.StreamState{FirstSeq: 1, LastSeq: 10, Deleted: []uint64{2, 6, 5}}, 6},
		"some later ones are gone": {jetstream.StreamState{FirstSeq: 1, LastSeq: 10, Deleted: []uint64{6, 7}}, 4},
		"the first are gone":       {jetstream.StreamState{FirstSeq: 8, LastSeq: 10, Deleted: []uint64{9}}, 7},
		"all are gone":             {jetstream.StreamState{FirstSeq: 11, LastSeq: 10}, 10},
		"nothing ever was there":   {jetstream.StreamState{}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			if got := goneAfter(4, c.is); got != c.want {
				t.Errorf("passed up to %d, want %d", got, c.want)
			}
		})
	}
}

// TestForwardNeverGoesBack: a record that comes although it was said to be gone does not make the hub's position that of it.
func TestForwardNeverGoesBack(t *testing.T) {
	q := open(t, Options{})
	s, h := forwardOne(t, q)
	last := edit(t, q, "a", 0, 1)
	s.seen = 9
	err := q.read(testContext(t), reading{stream: changesStream, filter: changePrefix + ".blue.>"},
		func(msg jetstream.Msg, sequence uint64) error { return s.take(testContext(t), h, msg, sequence) }, func() error { return errAllRead })
	if !errors.Is(err, errAllRead) || s.seen != 9 || len(s.batch) != 1 || s.batch[0].sequence != last {
		t.Errorf("after %v it is at %d with %d records", err, s.seen, len(s.batch))
	}
}

// TestNothingOfAStreamThatWasIsBroughtAsOfTheNewOne: the sequences of the old one would keep from the hub what the new one has below them.
func TestNothingOfAStreamThatWasIsBroughtAsOfTheNewOne(t *testing.T) {
	q := open(t, Options{})
	s, h := forwardOne(t, q)
	stream, err := q.js.Stream(testContext(t), changesStream)
	if err != nil {
		t.Fatal(err)
	}
	s.at.Stream = streamIdentity(stream.CachedInfo())
	edit(t, q, "a", edit(t, q, "a", 0, 1), 2)
	r := reading{stream: changesStream, filter: changePrefix + ".blue.>"}
	err = q.read(testContext(t), r,
		func(msg jetstream.Msg, sequence uint64) error { return s.take(testContext(t), h, msg, sequence) }, func() error { return errAllRead })
	if !errors.Is(err, errAllRead) || len(s.batch) != 2 {
		t.Fatalf("%d records wait to be brought: %v", len(s.batch), err)
	}
	if err := errors.Join(q.js.DeleteStream(testContext(t), changesStream), q.ensureStreams(testContext(t))); err != nil {
		t.Fatal(err)
	}
	edit(t, q, "a", edit(t, q, "a", edit(t, q, "a", 0, 3), 4), 5)
	ctx, cancel := context.WithCancel(testContext(t))
	ended := make(chan error, 1)
	go func() { ended <- s.goOn(ctx, h, r.filter) }()
	defer func() { cancel(); <-ended }()
	want := contents(t, q.js, changesStream)
	var got map[string][]string
	eventually(t, "what the new one has", func() bool {
		got = contents(t, h.q.js, changesStream)
		return count(got) >= count(want)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the hub has (-want +got):\n%s", diff)
	}
}
