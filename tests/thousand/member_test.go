//go:build nightly

package thousand

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/reloader/queue/hub"
)

const (
	workloads, configs = 100, 200
	// eventEvery is how often configs of a cluster change on average; one time in burst, burst of them do at once. So there is a change in ten seconds.
	eventEvery, burst = 19600 * time.Millisecond, 50
	// settleTime is how long after a cut or a restart lags count again: until then a member catches up.
	settleTime = 15 * time.Second
)

// member is a cluster: the real queue and the real hub.Member over records that are made here.
type member struct {
	name  string
	queue *queue.Queue
	hub   hub.Options
	// calm is from when on lags count, as Unix nanoseconds; 0 for not now.
	calm atomic.Int64

	mu  sync.Mutex // guards the rest
	run *hub.Member
	end func()
	// made are the IDs of the history, states the time of each workload's newest record, by the end of its subject.
	made   []string
	states map[string]time.Time
	// newest is the last change of the config that others follow, and targets are those who do; copied is what came of the config that this follows.
	newest  reloader.Change
	targets map[string]uint64
	copied  string
}

func (w *world) newMember(ctx context.Context, name, hubURL string) (m *member, err error) {
	o := login(w.local, name, w.password)
	o.Streams, o.MaxStore = []string{queue.HistoryStream, queue.StateStream}, 64<<20
	m = &member{name: name, states: map[string]time.Time{}, targets: map[string]uint64{}}
	m.hub = hub.Options{Hub: login(hubURL, name, w.password), Cluster: name, UID: "uid-" + name, Logger: quiet}
	m.queue, err = queue.Open(ctx, o)
	return m, err
}

func config(n int) reloader.Config {
	return reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: fmt.Sprintf("config-%d", n)}
}

func web(n int) reloader.WorkloadRef {
	return reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: fmt.Sprintf("web-%d", n)}
}

// fill stores the first record of each config and workload, and the status.
func (m *member) fill(ctx context.Context) error {
	if err := m.status(ctx); err != nil {
		return err
	}
	for n := range configs {
		if _, err := m.change(ctx, n, reloader.ChangeBaseline); err != nil {
			return err
		}
	}
	for n := range workloads {
		if err := m.state(ctx, n, ""); err != nil {
			return err
		}
	}
	return nil
}

func (m *member) change(ctx context.Context, n int, what reloader.ChangeType) (reloader.Change, error) {
	c := reloader.Change{
		Cluster: m.name, Config: config(n), Type: what, UID: "u", New: reloader.Digest{KeyID: "k", Sum: fmt.Sprintf("%064x", rand.Uint64())},
		Keys: []reloader.KeyChange{{Key: "application.yaml", Op: reloader.KeyChanged}}, Source: reloader.SourceAudit, VerifiedAt: time.Now(),
		Candidates: []reloader.Candidate{{Actor: reloader.Actor{User: "system:serviceaccount:argocd:argocd-application-controller"}, Verb: "patch", Sure: true}},
	}
	c.ID = reloader.ChangeID(c)
	if err := keepOn(ctx, func() error { return m.queue.AppendChange(ctx, c) }); err != nil {
		return c, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.made = append(m.made, c.ID); n == 0 {
		m.newest = c
		for target, number := range m.targets {
			m.send(target, number)
		}
	}
	return c, nil
}

// send sends the newest change of the followed config. m.mu is locked.
func (m *member) send(target string, number uint64) {
	m.run.Send(reloader.Copy{Owner: m.name, Target: target, Config: config(0), Change: m.newest, Answers: number, At: time.Now()})
}

func (m *member) state(ctx context.Context, n int, last string) error {
	r := reloader.WorkloadRecord{
		Cluster:   m.name,
		Workload:  web(n),
		UID:       "u",
		Dialect:   "stakater",
		Strategy:  "env-vars",
		Standing:  reloader.Standing{LastReload: last},
		UpdatedAt: time.Now(),
		Edges:     []reloader.Edge{{Config: config(2 * n), Why: reloader.ReasonAuto}, {Config: config(2*n + 1), Why: reloader.ReasonAuto}},
	}
	m.mu.Lock()
	m.states["deployment.shop."+r.Workload.Name] = r.UpdatedAt
	m.mu.Unlock()
	return keepOn(ctx, func() error { return m.queue.PutWorkload(ctx, r) })
}

func (m *member) status(ctx context.Context) error {
	return keepOn(ctx, func() error {
		return m.queue.PutClusterStatus(ctx, reloader.ClusterStatus{
			Cluster: m.name, UID: m.hub.UID, At: time.Now(), Version: "v1", Ready: true, Backlog: reloader.Backlog{Workloads: workloads},
		})
	})
}

// keepOn stores something, and tries again as the dispatcher does: the disk of a busy machine can stop for seconds.
func keepOn(ctx context.Context, store func() error) error {
	for {
		if err := store(); err == nil || !pause(ctx, 100*time.Millisecond) {
			return err
		}
	}
}

// report stores the status again and again, at times of its own, until ctx ends.
func (m *member) report(ctx context.Context) error {
	for wait := rand.N(reloader.ClusterStatusInterval); pause(ctx, wait); wait = reloader.ClusterStatusInterval {
		if err := m.status(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// work has configs change until ctx ends.
func (m *member) work(ctx context.Context) error {
	for pause(ctx, time.Duration(rand.ExpFloat64()*float64(eventEvery))) {
		times := 1
		if rand.IntN(burst+1) == 0 {
			times = burst
		}
		for range times {
			if err := m.edit(context.WithoutCancel(ctx), rand.IntN(configs)); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
	}
	return nil
}

// edit has a config change and its workload roll.
func (m *member) edit(ctx context.Context, n int) error {
	c, err := m.change(ctx, n, reloader.ChangeUpdated)
	if err != nil {
		return err
	}
	r := reloader.Reload{
		ID:        "r-" + c.ID,
		Cluster:   m.name,
		Workload:  web(n / 2),
		Outcome:   reloader.ReasonReloaded,
		DecidedAt: time.Now(), PatchedAt: time.Now(),
		Causes: []reloader.Cause{{ChangeID: c.ID, Config: c.Config, Why: reloader.ReasonAuto, Source: c.Source, VerifiedAt: c.VerifiedAt, Candidates: c.Candidates}},
	}
	store := func() error { return m.queue.AppendReload(ctx, r) }
	if store() != nil { // it may be there, and the answer came too late
		err = keepOn(ctx, func() error {
			last, found, err := m.queue.LastReload(ctx, m.name, r.Workload)
			if err != nil || found && last.ID == r.ID {
				return err
			}
			return store()
		})
	}
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.made = append(m.made, r.ID)
	m.mu.Unlock()
	return m.state(ctx, n/2, r.ID)
}

// join starts the member of the hub, which follows a config of another one.
func (m *member) join(ctx context.Context, owner string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.run = hub.New(m.queue, m.hub)
	followed := config(0)
	followed.Cluster = owner
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	m.end = func() { cancel(); <-done }
	go func(run *hub.Member) {
		defer close(done)
		run.Run(ctx, hub.Following{
			Followed: func() []reloader.Follow { return []reloader.Follow{{Config: followed, Number: 1}} },
			Received: func(c reloader.Copy) { m.mu.Lock(); defer m.mu.Unlock(); m.copied = c.Change.ID },
			Wanted: func(w reloader.Want) {
				m.mu.Lock()
				defer m.mu.Unlock()
				m.targets[w.Target] = w.Configs[0].Number
				m.send(w.Target, w.Configs[0].Number)
			},
		})
	}(m.run)
	m.calm.Store(time.Now().Add(settleTime).UnixNano())
}

// each calls do for all members, some at once.
func each(ctx context.Context, all []*member, do func(context.Context, *member) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for _, m := range all {
		g.Go(func() error { return do(ctx, m) })
	}
	return g.Wait()
}
