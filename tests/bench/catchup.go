package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
	reroll "github.com/reroll-dev/reroll/reloader/queue/hub"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

const (
	// missedChanges of as many configs, and missedReloads of as many workloads, are stored while a cluster is cut off.
	missedChanges, missedReloads = 3000, 6000
	// missedAtOnce are on their way to the cluster's own store at a time.
	missedAtOnce = 64
)

var hubCandidates = []reloader.Candidate{{
	Actor: reloader.Actor{User: "system:serviceaccount:argocd:argocd-application-controller", UserAgent: "argocd-application-controller/v3.1.0", FieldManager: "argocd-controller"},
	Verb:  "patch", AuditID: "7f0c6dd1-9e2b-4c55-8d0a-000000000001", Basis: reloader.BasisOnlyWriter,
}}

// catchUp measures how fast a forwarder brings what a cluster has stored while it was cut off from its hub.
func catchUp(ctx context.Context, _ options) error {
	heading(fmt.Sprintf("a cut in which %d changes and %d reloads were stored", missedChanges, missedReloads))
	dir, err := os.MkdirTemp("", "reroll-bench-hub-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system clears what is left behind
	o, err := natsserver.HubOptions(dir, line.ClusterName)
	if err != nil {
		return err
	}
	o.StoreDir = filepath.Join(dir, "hub")
	hub, err := server.NewServer(o)
	if err != nil {
		return err
	}
	hub.Start()
	defer func() { hub.Shutdown(); hub.WaitForShutdown() }()
	if !hub.ReadyForConnections(time.Minute) {
		return errors.New("the hub's NATS is not ready")
	}
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte(natsserver.Password), 0o600); err != nil {
		return err
	}
	login := func(user string) queue.Options {
		return queue.Options{URL: hub.ClientURL(), Login: queue.Login{User: user, PasswordFile: password}, Logger: slog.New(slog.DiscardHandler)}
	}
	if err := reroll.Add(ctx, login(natsserver.HubUser), line.ClusterName); err != nil {
		return err
	}
	q, err := queue.Open(ctx, queue.Options{StoreDir: filepath.Join(dir, "cluster"), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	err = catchUpOf(ctx, q, login)
	return errors.Join(err, q.Close(context.WithoutCancel(ctx)))
}

func catchUpOf(ctx context.Context, q *queue.Queue, login func(user string) queue.Options) error {
	start := time.Now()
	if err := miss(ctx, q); err != nil {
		return err
	}
	const missed = missedChanges + missedReloads
	row("stored in the cluster", "%.0f records a second", missed/time.Since(start).Seconds())
	f, err := reroll.New(q, reroll.Options{
		Hub: login(line.ClusterName), Cluster: line.ClusterName, UID: "5f0d0a3e-7b1c-4c0f-9d8e-3a2b1c0d4e5f", Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	hub, err := queue.Dial(login(natsserver.HubUser))
	if err != nil {
		return err
	}
	defer hub.NATS.Close()
	running, cut := context.WithCancel(ctx)
	ended := make(chan error, 1)
	start = time.Now()
	go func() { ended <- f.Run(running, reroll.Following{}) }()
	err = line.Poll(ctx, func(ctx context.Context) error {
		stream, err := hub.JS.Stream(ctx, queue.HistoryStream)
		if err == nil && stream.CachedInfo().State.LastSeq < missed {
			err = fmt.Errorf("%d of %d records are at the hub", stream.CachedInfo().State.LastSeq, missed)
		}
		return err
	})
	took := time.Since(start)
	cut()
	if err := errors.Join(err, <-ended); err != nil {
		return err
	}
	row("at the hub after", "%s, %.0f records a second", ms(took), missed/took.Seconds())
	return nil
}

// miss stores what is to be brought later.
func miss(ctx context.Context, q *queue.Queue) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(missedAtOnce)
	now := time.Now()
	for n := range missedChanges {
		g.Go(func() error {
			c := reloader.Change{
				Cluster: line.ClusterName, Config: reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: fmt.Sprint("app-", n)},
				Type: reloader.ChangeUpdated, New: reloader.Digest{KeyID: "03f3c349c140", Sum: fmt.Sprintf("%064d", n)},
				Candidates: hubCandidates, Source: reloader.SourceAudit, RequestedAt: now, ReceivedAt: now, VerifiedAt: now,
			}
			c.ID = reloader.ChangeID(c)
			return q.AppendChange(ctx, c)
		})
	}
	for n := range missedReloads {
		g.Go(func() error {
			return q.AppendReload(ctx, reloader.Reload{
				ID: fmt.Sprint("r-", n), Cluster: line.ClusterName, Workload: reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: fmt.Sprint("web-", n)},
				UID: "u", Outcome: reloader.ReasonReloaded, DecidedAt: now, PatchedAt: now,
				Causes: []reloader.Cause{{
					ChangeID: "c", Config: reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: fmt.Sprint("app-", n%missedChanges)},
					Why: reloader.ReasonAuto, Candidates: hubCandidates, Source: reloader.SourceAudit, RequestedAt: now, ReceivedAt: now, VerifiedAt: now,
				}},
			})
		})
	}
	return g.Wait()
}
