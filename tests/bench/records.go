package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
)

const (
	// spaces, services and settings are how many namespaces, workloads and configs the records are about.
	spaces   = 50
	services = 3000
	// writers is how many records are stored at once.
	writers = 256
	natsMax = 20 * time.Second
)

// store is a NATS with records in it. It does not wait for the disk: what is measured is what reads it.
type store struct {
	nats  *server.Server
	queue *queue.Queue
	dir   string
	// newest is the number of the newest reload.
	newest int
}

// newStore starts a NATS and makes the streams.
func newStore(ctx context.Context) (*store, error) {
	dir, err := os.MkdirTemp("", "reroll-bench-nats-")
	if err != nil {
		return nil, err
	}
	s := &store{dir: dir}
	s.nats, err = server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: dir, JetStreamMaxStore: 8 << 30,
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.nats.Start()
	if !s.nats.ReadyForConnections(natsMax) {
		return nil, errors.Join(errors.New("NATS was not ready in time"), s.close(ctx))
	}
	if s.queue, err = queue.Open(ctx, queue.Options{URL: s.nats.ClientURL(), Logger: slog.New(slog.DiscardHandler)}); err != nil {
		return nil, errors.Join(err, s.close(ctx))
	}
	return s, nil
}

func (s *store) close(ctx context.Context) error {
	var err error
	if s.queue != nil {
		err = s.queue.Close(ctx)
	}
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
	return errors.Join(err, os.RemoveAll(s.dir))
}

// fill stores reloads, half as many changes, and the records of all workloads.
func (s *store) fill(ctx context.Context, reloads int) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for n := range services {
		g.Go(func() error { return s.queue.PutWorkload(gctx, workloadRecord(n)) })
	}
	for n := range reloads {
		g.Go(func() error { return s.queue.AppendReload(gctx, reload(n)) })
	}
	s.newest = reloads
	if err := g.Wait(); err != nil {
		return err
	}
	return s.fillChanges(ctx, reloads/2)
}

// fillChanges stores the changes of one config after the other, and of many configs at once: each follows the one before it.
func (s *store) fillChanges(ctx context.Context, changes int) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for config := range services {
		g.Go(func() error {
			var last uint64
			for n := config; n < changes; n += services {
				var err error
				if last, err = s.queue.AppendChange(ctx, change(n), last); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// next stores one more reload.
func (s *store) next(ctx context.Context) error {
	s.newest++
	return s.queue.AppendReload(ctx, reload(s.newest))
}

var epoch = time.Now().Add(-24 * time.Hour).UTC().Truncate(time.Second)

func namespaceOf(n int) string { return fmt.Sprintf("team-%d", n%spaces) }

func workloadOf(n int) reloader.WorkloadRef {
	return reloader.WorkloadRef{Kind: "Deployment", Namespace: namespaceOf(n), Name: fmt.Sprintf("service-%d", n%services)}
}

func configOf(n int) reloader.Config {
	return reloader.Config{Kind: reloader.ConfigMap, Namespace: namespaceOf(n), Name: fmt.Sprintf("settings-%d", n%services)}
}

func uidOf(n int) string { return fmt.Sprintf("6b1c7d5e-0000-4000-8000-%012d", n%services) }

func sum(n int) string { return fmt.Sprintf("%064x", n) }

func change(n int) reloader.Change {
	at := epoch.Add(time.Duration(n) * time.Second)
	return reloader.Change{
		ID: fmt.Sprintf("c-%016d", n), Cluster: "local", Config: configOf(n), Type: reloader.ChangeUpdated, UID: uidOf(n), ResourceVersion: fmt.Sprint(n),
		Old:        reloader.Digest{KeyID: "key-1", Sum: sum(n), Keys: map[string]string{"application.yaml": "0011223344556677"}},
		New:        reloader.Digest{KeyID: "key-1", Sum: sum(n + services), Keys: map[string]string{"application.yaml": "7766554433221100"}},
		Keys:       []reloader.KeyChange{{Key: "application.yaml", Op: reloader.KeyChanged}},
		Candidates: candidates(n, at), Source: reloader.SourceAudit, RequestedAt: at, ReceivedAt: at, VerifiedAt: at,
	}
}

func candidates(n int, at time.Time) []reloader.Candidate {
	return []reloader.Candidate{{
		Actor: reloader.Actor{
			User: "system:serviceaccount:" + namespaceOf(n) + ":deployer", SourceIP: "10.1.2.3",
			UserAgent: "kubectl/v1.37.1 (linux/amd64) kubernetes/0000000", FieldManager: "kubectl-client-side-apply",
		},
		Verb: reloader.VerbPatch, AuditID: fmt.Sprintf("9e2f0000-0000-4000-8000-%012d", n), Time: at, Basis: reloader.BasisOnlyWriter,
	}}
}

// reload is one of two that a change has caused.
func reload(n int) reloader.Reload {
	c := change(n / 2)
	return reloader.Reload{
		ID: fmt.Sprintf("r-%016d", n), Cluster: c.Cluster, Workload: workloadOf(n / 2), UID: c.UID, Dialect: "stakater", Strategy: "env-vars",
		Outcome: reloader.ReasonReloaded, Attempts: 1, DecidedAt: c.VerifiedAt, PatchedAt: c.VerifiedAt.Add(20 * time.Millisecond), Generation: int64(n),
		Causes: []reloader.Cause{{
			ChangeID: c.ID, Config: c.Config, Why: reloader.ReasonAuto, Clause: "reloader.stakater.com/auto", OldSum: c.Old.Sum, NewSum: c.New.Sum,
			Keys: c.Keys, Candidates: c.Candidates, Source: c.Source, RequestedAt: c.RequestedAt, ReceivedAt: c.ReceivedAt, VerifiedAt: c.VerifiedAt, Container: "app",
		}},
	}
}

func workloadRecord(n int) reloader.WorkloadRecord {
	return reloader.WorkloadRecord{
		Cluster: "local", Workload: workloadOf(n), UID: uidOf(n), Dialect: "stakater", Strategy: "env-vars", UpdatedAt: epoch,
		Edges: []reloader.Edge{{
			Config: configOf(n), Why: reloader.ReasonAuto, Clause: "reloader.stakater.com/auto", Uses: []reloader.Use{{How: "envFrom", Container: "app"}},
			Handled: reloader.Handled{KeyID: "key-1", Sum: sum(n), How: reloader.ReasonReloaded, At: epoch},
		}},
	}
}
