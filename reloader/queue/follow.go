package queue

import (
	"context"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/reloader"
)

// Followed is what Follow calls; every field must be set. Calls never overlap. Those of one kind come in stream order; after a
// loss of the connection the next begins where the last ended.
type Followed struct {
	Change   func(reloader.StoredChange)
	Reload   func(sequence uint64, r reloader.Reload)
	Workload func(reloader.WorkloadRecord)
	// WorkloadGone says that the record of a workload ended.
	WorkloadGone func(cluster string, ref reloader.WorkloadRef)
	// CaughtUp is called once, when everything that was stored has been handed over.
	CaughtUp func()
}

// Follow hands over what is stored of changes, reloads and workload records of all clusters, and then what comes. It returns nil
// when ctx ends, and ErrClosed when the queue is closed. What cannot be read is logged and skipped, and stays where it is.
func (q *Queue) Follow(ctx context.Context, to Followed) error {
	ctx, leave, err := q.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	f := &following{q: q, to: to, behind: 3}
	var g errgroup.Group
	g.Go(func() error { return f.stream(ctx, changesStream, changePrefix, f.change) })
	g.Go(func() error { return f.stream(ctx, reloadsStream, reloadPrefix, f.reload) })
	g.Go(func() error { return f.stream(ctx, workloadsStream, workloadPrefix, f.workload) })
	return g.Wait()
}

type following struct {
	q  *Queue
	to Followed

	mu sync.Mutex
	// behind is how many streams have not caught up yet.
	behind int
}

// stream follows one stream until ctx ends. It begins again after the last message whenever it is interrupted.
func (f *following) stream(ctx context.Context, stream, prefix string, hand func(jetstream.Msg, uint64) error) error {
	r := reading{stream: stream, filter: prefix + ".>"}
	var once sync.Once
	wait := firstWait
	for {
		session, release := f.q.interrupts.guard(ctx)
		err := f.q.read(session, r, func(msg jetstream.Msg, sequence uint64) error {
			f.handOver(msg, sequence, hand)
			r.after, wait = sequence, firstWait
			return nil
		}, func() error { once.Do(f.caughtUp); return nil })
		release()
		if ctx.Err() != nil {
			return ended(ctx)
		}
		f.q.log.Warn("following was interrupted; resuming", "stream", stream, "after", r.after, "error", err)
		if !pause(ctx, wait) {
			return ended(ctx)
		}
		wait = min(2*wait, longestWait)
		if f.q.madeAnew(ctx, stream, r.after) {
			r.after = 0
		}
	}
}

// handOver calls hand, and logs what it cannot read.
func (f *following) handOver(msg jetstream.Msg, sequence uint64, hand func(jetstream.Msg, uint64) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := hand(msg, sequence); err != nil {
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

func (f *following) change(msg jetstream.Msg, sequence uint64) error {
	c, err := reloader.Decode[reloader.Change](msg.Data())
	if err == nil {
		f.to.Change(reloader.StoredChange{Change: c, Sequence: sequence})
	}
	return err
}

func (f *following) reload(msg jetstream.Msg, sequence uint64) error {
	r, err := reloader.Decode[reloader.Reload](msg.Data())
	if err == nil {
		f.to.Reload(sequence, r)
	}
	return err
}

func (f *following) workload(msg jetstream.Msg, _ uint64) error {
	if msg.Headers().Get(headerOperation) != "" {
		return f.workloadGone(msg)
	}
	r, err := reloader.Decode[reloader.WorkloadRecord](msg.Data())
	if err == nil {
		f.to.Workload(r)
	}
	return err
}

func (f *following) workloadGone(msg jetstream.Msg) error {
	p, err := parseSubject(workloadPrefix, msg.Subject())
	if err != nil {
		return err
	}
	ref := reloader.WorkloadRef{Kind: msg.Headers().Get(headerKind), Namespace: p.namespace, Name: p.name}
	if err := ref.Validate(); err != nil {
		return fmt.Errorf("end of a record: %w", err)
	}
	f.to.WorkloadGone(p.cluster, ref)
	return nil
}
