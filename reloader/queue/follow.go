package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/reloader"
)

// Event is a stored record. One of its pointers is set.
type Event struct {
	// Cluster is the one that wrote the record, and Sequence its place in the stream.
	Cluster  string
	Sequence uint64
	Change   *reloader.Change
	Reload   *reloader.Reload
	Workload *reloader.WorkloadRecord
	// Gone is a workload whose record has ended.
	Gone   *reloader.WorkloadRef
	Status *reloader.ClusterStatus
	// Position is how far a stream of the cluster is at this hub.
	Position *reloader.Position
}

// Follower takes what Follow reads. All fields must be set. Calls never overlap.
type Follower struct {
	// Event takes a record. Changes and reloads come in the order in which they were stored, and so do the others. After a loss of the connection
	// the next one is that after the last.
	Event func(Event)
	// CaughtUp is called once when everything that was stored has been handed over, and again after each Reset.
	CaughtUp func()
	// Reset says that what was handed over may no longer be stored: a stream was lost or is in an earlier state, or a hub removed a cluster. What
	// is stored now comes next.
	Reset func()
}

// Follow hands over changes, reloads, records of workloads, statuses and positions of all clusters, and then each new one. It returns nil when
// ctx ends, and ErrClosed when the queue is closed. A record that cannot be read, or that is not on its subject, is logged and left out.
func (q *Queue) Follow(ctx context.Context, to Follower) error {
	ctx, leave, err := q.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	for {
		all, reading := errgroup.WithContext(ctx)
		f := &following{q: q, to: to, behind: 2}
		f.begun = func() { all.Go(func() error { return f.stream(reading, HistoryStream) }) }
		all.Go(func() error { return f.stream(reading, StateStream) })
		if err := all.Wait(); !errors.Is(err, errReset) {
			return ended(ctx)
		}
		q.log.Warn("records were lost or removed; reading what is stored")
		to.Reset()
	}
}

// errReset ends the reading of all streams.
var errReset = Final(errors.New("read records may no longer be stored"))

// following reads all streams until ctx ends, or one of them is not what it was.
type following struct {
	q  *Queue
	to Follower

	mu sync.Mutex // guards the calls of to, and behind
	// behind is how many streams have not caught up.
	behind int
	// begun begins to read HISTORY once the reading of STATE has begun: a cluster that is removed later is noted in what is still to be read.
	begun func()
}

// stream reads one stream, and continues after the last message whenever it is interrupted.
func (f *following) stream(ctx context.Context, name string) error {
	s := &followed{following: f, name: name}
	return Retry(ctx, f.q.log.With("stream", name), "reading was interrupted; it continues", func() error { return s.session(ctx) })
}

// followed is one stream, and how far it was read.
type followed struct {
	*following
	name    string
	created time.Time
	after   uint64
	// stored is the last sequence when the reading began.
	stored uint64
	caught bool
}

func (s *followed) session(ctx context.Context) error {
	t, err := s.q.Tail(ctx, s.name, s.after)
	if err != nil {
		return err
	}
	defer t.Close()
	switch {
	case s.created.IsZero():
		if s.created, s.stored = t.Created, t.Last; s.name == StateStream {
			s.begun()
		}
	case !s.created.Equal(t.Created) || t.Last < s.after:
		return errReset
	}
	if t.Waiting() == 0 {
		s.caughtUp()
	}
	for {
		m, err := t.Next(ctx)
		if err != nil {
			return err
		}
		if err := s.handOver(m); err != nil {
			return err
		}
		if s.after = m.Sequence; m.Pending == 0 {
			s.caughtUp()
		}
	}
}

func (s *followed) caughtUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.caught {
		return
	}
	s.caught = true
	if s.behind--; s.behind == 0 {
		s.to.CaughtUp()
	}
}

func (s *followed) handOver(m Stored) error {
	if _, cluster := CutSubject(m.Subject); m.Subject == RemovedSubject(cluster) {
		// A hub removes records first and notes it last. A note from before this reading began is about records that it did not see.
		if m.Sequence > s.stored {
			return errReset
		}
		return nil
	}
	e, err := eventOf(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		s.q.noteUnreadable(s.name, m.Subject, err)
	case e != nil:
		s.to.Event(*e)
	}
	return nil
}

// eventOf reads a message; nil if it is none of those that are handed over.
func eventOf(m Stored) (*Event, error) {
	prefix, cluster := CutSubject(m.Subject)
	e := &Event{Cluster: cluster, Sequence: m.Sequence}
	var err error
	switch {
	case prefix == changePrefix:
		e.Change, err = changeOf(changePrefix, m)
	case prefix == reloadPrefix:
		e.Reload, err = reloadOf(m)
	case prefix == workloadPrefix && len(m.Data) == 0:
		var ref reloader.WorkloadRef
		ref, err = refOf(m.Subject, m.Header.Get(headerKind))
		e.Gone = &ref
	case prefix == workloadPrefix:
		e.Workload, err = workloadOf(m)
	case m.Subject == StatusSubject(cluster):
		e.Status, err = read(m, func(s *reloader.ClusterStatus) (string, error) { return StatusSubject(s.Cluster), nil })
		if err == nil {
			e.Status.StoredAt = m.At
		}
	case prefix == PositionPrefix:
		e.Position, err = read(m, func(p *reloader.Position) (string, error) { return PositionPrefix + "." + e.Cluster + "." + p.Of, nil })
	default:
		return nil, nil
	}
	return e, err
}

func changeOf(prefix string, m Stored) (*reloader.Change, error) {
	return read(m, func(c *reloader.Change) (string, error) {
		if id := reloader.ChangeID(*c); c.ID != id {
			return "", fmt.Errorf("the change has the ID %.64q, and its content that of %s", c.ID, id)
		}
		return ConfigSubject(prefix, c.Cluster, c.Config)
	})
}

func reloadOf(m Stored) (*reloader.Reload, error) {
	return read(m, func(r *reloader.Reload) (string, error) { return workloadSubject(reloadPrefix, r.Cluster, r.Workload) })
}

func workloadOf(m Stored) (*reloader.WorkloadRecord, error) {
	return read(m, func(r *reloader.WorkloadRecord) (string, error) {
		return workloadSubject(workloadPrefix, r.Cluster, r.Workload)
	})
}

// read decodes a record and checks that it is where it belongs.
func read[R reloader.Record](m Stored, place func(*R) (string, error)) (*R, error) {
	r, err := reloader.Decode[R](m.Data)
	if err != nil {
		return nil, err
	}
	return &r, inPlace(m.Subject)(place(&r))
}
