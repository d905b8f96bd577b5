package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/reloader"
)

const (
	// forwardBatch is how many records are on their way to the hub at once, and forwardLanes how many objects they may be about.
	forwardBatch, forwardLanes = 512, 64
	// reportInterval is how often the hub is told how far it is while records come.
	reportInterval = 2 * time.Second
)

// forwardStream brings the records of one stream. One goroutine uses it.
type forwardStream struct {
	f            *Forwarder
	kind         reloader.RecordKind
	name, prefix string
	// countsHoles says that each record counts, not the newest of its object alone.
	countsHoles bool

	// at is the last record that is at the hub.
	at reloader.Position
	// alone says that nobody else stores in the stream, so that a sequence that is not there is a record that is gone, if it is after the last
	// that was stored under another name.
	alone  bool
	others uint64
	// began is the last sequence that was stored when it was found out that the hub had nothing yet: what had gone by then is not missing there. What
	// goes of that while it is being brought for the first time cannot be told from it, and is no gap either.
	began uint64
	// seen is the sequence of the last message that came, and batch those that are not at the hub yet.
	seen  uint64
	batch []*forwarded
	// holes are what is missing between the records that came since it was last judged, and proofs what fills them: by the sequence after
	// which all was brought, that up to which it was.
	holes  []reloader.Gap
	proofs map[uint64]uint64
	// whole is the sequence after which this session has brought everything.
	whole uint64
}

// forwarded is a record on its way.
type forwarded struct {
	message  *nats.Msg
	sequence uint64
}

// run brings records until something goes wrong or ctx ends.
func (s *forwardStream) run(ctx context.Context, h *hub) error {
	filter, err := clusterFilter(s.prefix, s.f.Cluster)
	if err != nil {
		return err
	}
	s.at, s.began = s.f.position(s.kind), 0
	return s.goOn(ctx, h, filter)
}

// goOn brings what comes after the position, also if the stream is made anew meanwhile.
func (s *forwardStream) goOn(ctx context.Context, h *hub, filter string) error {
	for {
		// What came of a stream that was made anew meanwhile is none of the new one. It is among what is then told as a gap.
		s.batch, s.holes, s.proofs = nil, nil, map[uint64]uint64{}
		err := s.session(ctx, h, filter)
		if errors.Is(err, errAnew) {
			continue
		}
		if ctx.Err() == nil {
			s.f.metrics.errors.WithLabelValues(string(s.kind)).Inc()
		}
		return fmt.Errorf("bring %s after %d: %w", s.kind, s.at.Sequence, err)
	}
}

// session brings records until something goes wrong.
func (s *forwardStream) session(ctx context.Context, h *hub, filter string) error {
	ctx, release := s.f.q.interrupts.guard(ctx, "$JS.API.CONSUMER.MSG.NEXT."+s.name+".")
	defer release()
	stored, err := s.recognize(ctx)
	if err != nil {
		return err
	}
	created := s.at.Stream
	r := reading{stream: s.name, filter: filter, after: s.at.Sequence, begun: func() error {
		if _, err := s.recognize(ctx); err != nil {
			return err
		}
		if s.at.Stream != created {
			return errAnew
		}
		return nil
	}}
	return s.f.q.read(ctx, r, func(msg jetstream.Msg, sequence uint64) error { return s.take(ctx, h, msg, sequence) },
		func() error { return s.caughtUp(ctx, h, filter, stored) })
}

// caughtUp brings what has come, when no more is said to be stored. stored is the last sequence that was when the session began. Who handed over
// what came may be a server that lags behind the one that said so, which is asked what of the rest is gone: nothing else is passed.
func (s *forwardStream) caughtUp(ctx context.Context, h *hub, filter string, stored uint64) error {
	if s.alone && s.seen < stored {
		gone, err := s.gone(ctx, filter, stored)
		if err != nil {
			return err
		}
		s.passed(gone)
	}
	return s.flush(ctx, h, 0)
}

// gone returns the last sequence, up to stored or beyond, up to which nothing of ours is stored after the last that came.
func (s *forwardStream) gone(ctx context.Context, filter string, stored uint64) (uint64, error) {
	if s.others > 0 { // what is there may be theirs, which we may ask for
		last, err := s.f.q.lastMatching(ctx, s.name, filter)
		if err != nil {
			return 0, fmt.Errorf("look for the last record in %s: %w", s.name, err)
		}
		if last <= s.seen {
			return stored, nil
		}
	}
	ctx, release := s.f.q.bounded(ctx, answerTime, "$JS.API.STREAM.INFO.")
	defer release()
	stream, err := s.f.q.js.Stream(ctx, s.name)
	if err != nil {
		return 0, fmt.Errorf("look at %s: %w", s.name, explain(ctx, err))
	}
	info, err := stream.Info(ctx, jetstream.WithDeletedDetails(true))
	if err != nil {
		return 0, fmt.Errorf("look at what is gone from %s: %w", s.name, explain(ctx, err))
	}
	if !sameStream(s.at.Stream, streamIdentity(info)) {
		return 0, errAnew
	}
	return goneAfter(s.seen, info.State), nil
}

// goneAfter returns the last sequence up to which a stream has nothing after seen.
func goneAfter(seen uint64, is jetstream.StreamState) uint64 {
	seen = max(seen, before(is.FirstSeq))
	for _, sequence := range slices.Sorted(slices.Values(is.Deleted)) {
		if sequence == seen+1 {
			seen = sequence
		}
	}
	return seen
}

// recognize finds out whether the stream is still the one of which the hub has records, and begins anew if it is not. It returns the last
// sequence that was stored.
func (s *forwardStream) recognize(ctx context.Context) (stored uint64, err error) {
	ctx, release := s.f.q.bounded(ctx, answerTime, "$JS.API.STREAM.INFO.")
	defer release()
	stream, err := s.f.q.js.Stream(ctx, s.name)
	if err != nil {
		return 0, fmt.Errorf("look at %s: %w", s.name, explain(ctx, err))
	}
	if s.countsHoles {
		if s.alone, s.others, err = s.lookForOthers(ctx); err != nil {
			return 0, err
		}
	}
	info := stream.CachedInfo()
	is := streamIdentity(info)
	switch {
	case s.at.Stream == "":
		s.at = reloader.Position{Stream: is, Sequence: before(info.State.FirstSeq)}
		s.began = info.State.LastSeq
	case !sameStream(s.at.Stream, is):
		g := s.gap(reloader.Gap{Why: reloader.GapStreamRemade, After: s.at.Sequence})
		s.at, s.began = reloader.Position{Stream: is}, 0
		s.f.arrived(s.kind, s.at, g)
	case info.State.LastSeq < s.at.Sequence:
		g := s.gap(reloader.Gap{Why: reloader.GapStreamRemade, After: info.State.LastSeq})
		s.at = reloader.Position{Stream: is + "+" + strconv.FormatUint(info.State.LastSeq, 10), Sequence: info.State.LastSeq}
		s.began = 0
		s.f.arrived(s.kind, s.at, g)
	}
	s.seen, s.whole = s.at.Sequence, s.at.Sequence
	return info.State.LastSeq, nil
}

func before(first uint64) uint64 { return max(first, 1) - 1 }

// gap counts and logs a gap, and returns it with when and of what it is.
func (s *forwardStream) gap(g reloader.Gap) reloader.Gap {
	g.Kind, g.At = s.kind, time.Now()
	s.f.metrics.gaps.WithLabelValues(string(s.kind)).Inc()
	s.f.Logger.Warn("records are missing at the hub", "records", s.kind, "why", g.Why, "after", g.After, "missing", g.Records)
	return g
}

// passed takes note that nothing comes any more up to a sequence.
func (s *forwardStream) passed(sequence uint64) {
	if s.alone {
		s.holes = appendHole(s.holes, reloader.Gap{Why: reloader.GapAgedOut}, max(s.seen, s.others, s.began), sequence)
		s.seen = max(s.seen, sequence)
	}
}

// take adds a record to the batch, and brings the batch if it is full.
func (s *forwardStream) take(ctx context.Context, h *hub, msg jetstream.Msg, sequence uint64) error {
	s.passed(sequence - 1)
	s.seen = max(s.seen, sequence)
	if data, err := h.q.fitting(s.kind, msg.Data()); err != nil {
		// It must not hold up all that come after it.
		s.f.Logger.Error("a record is too large for the hub and is not brought", "records", s.kind, "sequence", sequence, "error", err)
	} else {
		s.batch = append(s.batch, &forwarded{copied(msg.Subject(), msg.Headers(), data), sequence})
	}
	meta, err := msg.Metadata()
	if err != nil {
		return err
	}
	s.f.metrics.behind.WithLabelValues(string(s.kind)).Set(float64(meta.NumPending) + float64(len(s.batch)))
	if len(s.batch) < forwardBatch {
		return nil
	}
	return s.flush(ctx, h, meta.NumPending)
}

// flush brings the batch: records about one object one after the other, those about different objects side by side. As long as the hub
// turns out to have all that comes, and more comes, it is not said yet how far it is, nor what is missing: what it has from later on may
// prove that nothing is.
func (s *forwardStream) flush(ctx context.Context, h *hub, pending uint64) error {
	lanes := map[string][]*forwarded{}
	for _, one := range s.batch {
		lanes[one.message.Subject] = append(lanes[one.message.Subject], one)
	}
	b := brought{proofs: s.proofs}
	var g errgroup.Group
	g.SetLimit(forwardLanes)
	for _, lane := range lanes {
		g.Go(func() error { return s.bring(ctx, h, lane, &b) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	s.batch, s.holes = s.batch[:0], filled(s.holes, s.proofs)
	s.f.metrics.behind.WithLabelValues(string(s.kind)).Set(float64(pending))
	if len(s.holes) > 0 && pending > 0 && b.stored == 0 {
		return nil
	}
	if len(s.holes) > 0 {
		if err := s.leaveToOthers(ctx); err != nil {
			return err
		}
	}
	var gaps []reloader.Gap
	for _, hole := range s.holes {
		gaps = append(gaps, s.gap(hole))
		s.whole = hole.After + hole.Records
	}
	s.holes = nil
	s.at.Sequence, s.at.Behind = s.seen, pending
	s.f.arrived(s.kind, s.at, gaps...)
	return nil
}

func (s *forwardStream) bring(ctx context.Context, h *hub, lane []*forwarded, b *brought) error {
	for _, one := range lane {
		if err := s.f.known(ctx, h); err != nil {
			return err
		}
		stored, had, err := h.bring(ctx, s.name, one.message, origin{s.at.Stream, one.sequence}, proof{s.whole, s.at.Sequence})
		if errors.Is(err, errSetBack) {
			s.f.goBack(s.kind, reloader.Position{Stream: s.at.Stream, Sequence: s.proves(had).to, Withdrawn: max(s.at.Sequence, s.at.Withdrawn)})
		}
		if err != nil {
			return err
		}
		b.add(stored, s.proves(had))
		if stored {
			s.f.metrics.records.WithLabelValues(string(s.kind)).Inc()
		}
	}
	return nil
}

// proves returns what of this stream the hub surely has if it has n as the newest about some object.
func (s *forwardStream) proves(n newest) proof {
	if doubtful := s.at.Withdrawn > 0 && n.proof.to <= s.at.Withdrawn; doubtful || n.origin.stream != s.at.Stream {
		return proof{}
	}
	return n.proof.with(n.origin.sequence)
}
