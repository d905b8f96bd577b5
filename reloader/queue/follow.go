package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/reloader"
)

// Followed is what Follow calls; every field must be set, except those that say so. Calls never overlap. Those of one kind come in
// stream order; after a loss of the connection the next begins where the last ended, unless the stream was lost as well.
type Followed struct {
	Change   func(reloader.StoredChange)
	Reload   func(sequence uint64, r reloader.Reload)
	Workload func(reloader.WorkloadRecord)
	// WorkloadGone says that the record of a workload ended.
	WorkloadGone func(cluster string, ref reloader.WorkloadRef)
	// CaughtUp is called once, when everything that was stored has been handed over.
	CaughtUp func()
	// ChangesLost, ReloadsLost and WorkloadsLost say that what was handed over of that kind so far is no longer stored, because its
	// stream was lost or goes back to an earlier state. What is stored now comes next, and sequences begin again. Each may be nil.
	ChangesLost, ReloadsLost, WorkloadsLost func()
	// Cluster gets the status of each cluster, again and again; it may be nil. ClustersLost is to it what ChangesLost is to Change.
	Cluster      func(reloader.ClusterStatus)
	ClustersLost func()
	// ClusterGone says that a cluster was removed, and what of what was handed over is no longer stored. It may come late, after something of a
	// cluster that came back, and more than once. It may be nil.
	ClusterGone func(reloader.ClusterGone)
}

// Follow hands over what is stored of changes, reloads, workload records and statuses of all clusters, and then what comes. It returns nil
// when ctx ends, and ErrClosed when the queue is closed. What cannot be read is logged and skipped, and stays where it is.
func (q *Queue) Follow(ctx context.Context, to Followed) error {
	ctx, leave, err := q.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	f := &following{q: q, to: to, removals: removals{}, created: map[string]time.Time{}}
	streams := []followedStream{
		{name: changesStream, filter: changePrefix + ".>", hand: f.change, lost: to.ChangesLost},
		{name: reloadsStream, filter: reloadPrefix + ".>", hand: f.reload, lost: to.ReloadsLost},
		{name: workloadsStream, filter: workloadPrefix + ".>", hand: f.workload, lost: to.WorkloadsLost},
	}
	if to.Cluster != nil {
		streams = append(streams, followedStream{name: clustersStream, filter: anyClusterStatus, hand: f.cluster, lost: to.ClustersLost})
	}
	if to.ClusterGone != nil {
		streams = append(streams, followedStream{name: clustersStream, filter: anyClusterRemoved, hand: f.clusterGone, optional: true})
	}
	f.behind = len(streams)
	var g errgroup.Group
	for _, s := range streams {
		g.Go(func() error { return f.stream(ctx, s) })
	}
	return g.Wait()
}

type following struct {
	q  *Queue
	to Followed

	mu sync.Mutex
	// behind is how many streams have not caught up yet.
	behind   int
	removals removals
	// created is which stream of a name is followed.
	created map[string]time.Time
}

// followedStream is one stream, and who wants to know what of it.
type followedStream struct {
	name, filter string
	hand         func(msg jetstream.Msg, sequence uint64) error
	lost         func()
	// optional says that it is followed as soon as that is permitted, and nothing waits for it.
	optional bool
	// created is which stream of that name is followed, and after is how far.
	created time.Time
	after   uint64
}

// stream follows one stream until ctx ends. It begins again after the last message whenever it is interrupted.
func (f *following) stream(ctx context.Context, s followedStream) error {
	var once sync.Once
	wait := firstWait
	for {
		session, release := f.q.interrupts.guard(ctx, "$JS.API.CONSUMER.MSG.NEXT."+s.name+".")
		r := reading{stream: s.name, filter: s.filter, after: s.after, begun: func() error { return f.recognize(session, &s) }}
		err := f.q.read(session, r, func(msg jetstream.Msg, sequence uint64) error {
			f.handOver(msg, sequence, &s)
			s.after, wait = sequence, firstWait
			return nil
		}, func() error { once.Do(f.caughtUp); return nil })
		release()
		if ctx.Err() != nil {
			return ended(ctx)
		}
		if s.optional && errors.Is(err, ErrDenied) {
			once.Do(f.caughtUp)
			wait = longestWait
		}
		f.q.log.Warn("following was interrupted; resuming", "stream", s.name, "after", s.after, "error", err)
		if !pause(ctx, wait) {
			return ended(ctx)
		}
		wait = min(2*wait, longestWait)
	}
}

// errAnew ends a session that began where another stream of that name had ended.
var errAnew = errors.New("the stream is not the one that was followed")

// recognize makes sure that the stream is the one that s has followed so far. If it is not, it says that what came of that is lost, and
// makes s begin at the beginning. It is to be called when the reader is made: the reader ends with its stream, so it belongs to the
// stream that is recognized or hands over nothing.
func (f *following) recognize(ctx context.Context, s *followedStream) error {
	ctx, release := f.q.bounded(ctx, answerTime, "$JS.API.STREAM.INFO.")
	defer release()
	stream, err := f.q.js.Stream(ctx, s.name)
	if err != nil {
		return explain(ctx, err)
	}
	info := stream.CachedInfo()
	known := s.created
	s.created = info.Created
	f.mu.Lock()
	defer f.mu.Unlock()
	f.created[s.name] = info.Created
	if known.IsZero() || known.Equal(info.Created) && info.State.LastSeq >= s.after {
		return nil
	}
	s.after = 0
	if s.lost != nil {
		s.lost()
	}
	return errAnew
}

// handOver hands over a message of s unless it is of a cluster that was removed, and logs what it cannot read.
func (f *following) handOver(msg jetstream.Msg, sequence uint64, s *followedStream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.removals.cover(s, msg.Subject(), sequence) {
		return
	}
	if err := s.hand(msg, sequence); err != nil {
		f.q.log.Warn("skipped an unreadable message", "subject", msg.Subject(), "sequence", sequence, "error", err)
	}
}

func (f *following) caughtUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.behind--; f.behind == 0 {
		f.to.CaughtUp()
	}
}

// inPlace returns an error unless subject, where a record belongs by what it says of itself, is where it was stored. Who may store is bound to
// subjects, at a hub to those of one cluster; what a record says is nothing but its word.
func inPlace(msg jetstream.Msg, subject string, err error) error {
	if err == nil && subject != msg.Subject() {
		err = fmt.Errorf("the record belongs on %s", subject)
	}
	return err
}

func (f *following) change(msg jetstream.Msg, sequence uint64) error {
	c, err := reloader.Decode[reloader.Change](msg.Data())
	if err != nil {
		return err
	}
	subject, err := configSubject(changePrefix, c.Cluster, c.Config)
	if err := inPlace(msg, subject, err); err != nil {
		return err
	}
	if id := reloader.ChangeID(c); c.ID != id {
		return fmt.Errorf("the change calls itself %.64q, and what it says is %s", c.ID, id)
	}
	f.to.Change(reloader.StoredChange{Change: c, Sequence: sequence})
	return nil
}

func (f *following) reload(msg jetstream.Msg, sequence uint64) error {
	r, err := reloader.Decode[reloader.Reload](msg.Data())
	if err != nil {
		return err
	}
	subject, err := workloadSubject(reloadPrefix, r.Cluster, r.Workload)
	if err := inPlace(msg, subject, err); err != nil {
		return err
	}
	f.to.Reload(sequence, r)
	return nil
}

func (f *following) workload(msg jetstream.Msg, sequence uint64) error {
	if msg.Headers().Get(headerOperation) != "" {
		return f.workloadGone(msg)
	}
	r, err := reloader.Decode[reloader.WorkloadRecord](msg.Data())
	if err != nil {
		return err
	}
	subject, err := workloadSubject(workloadPrefix, r.Cluster, r.Workload)
	if err := inPlace(msg, subject, err); err != nil {
		return err
	}
	r.Sequence = sequence
	f.to.Workload(r)
	return nil
}

func (f *following) workloadGone(msg jetstream.Msg) error {
	p, err := parseSubject(workloadPrefix, msg.Subject())
	if err != nil {
		return err
	}
	ref := reloader.WorkloadRef{Kind: msg.Headers().Get(headerKind), Namespace: p.namespace, Name: p.name}
	subject, err := workloadSubject(workloadPrefix, p.cluster, ref)
	if err := inPlace(msg, subject, err); err != nil {
		return fmt.Errorf("end of a record: %w", err)
	}
	f.to.WorkloadGone(p.cluster, ref)
	return nil
}
