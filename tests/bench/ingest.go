package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/tests/line"
)

const (
	// senders post at once, each bodies of that many events, one after the other.
	senders, bodyEvents, bodies = 8, 50, 100
)

// auditEvent is an event of the level Metadata, as an API server sends it. It wants the name of a ConfigMap.
const auditEvent = `{"level":"Metadata","auditID":"5a0a4e9f-7f4e-4b34-9b56-000000000000","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/shop/configmaps/%[1]s",` +
	`"verb":"update","user":{"username":"system:serviceaccount:argocd:argocd-application-controller","groups":["system:serviceaccounts","system:authenticated"]},` +
	`"sourceIPs":["10.0.13.77"],"userAgent":"argocd-application-controller/v3.2.1 (linux/amd64) kubernetes/$Format",` +
	`"objectRef":{"resource":"configmaps","namespace":"shop","name":"%[1]s","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":200},` +
	`"requestReceivedTimestamp":"2026-11-21T12:00:00.123456Z","stageTimestamp":"2026-11-21T12:00:00.123456Z",` +
	`"annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":""}}`

// ingest measures how many hints a second are on disk when several API servers send events of different configs, and then how many as many callers
// store that have them already.
func (b *bench) ingest(ctx context.Context) error {
	heading(fmt.Sprintf("ingest, %d senders", senders))
	rate, took, err := inParallel(ctx, b.sends)
	if err != nil {
		return err
	}
	row("hints on disk", "%.0f/s; a body of %d: %s", rate, bodyEvents, percentiles(took))
	dir, err := os.MkdirTemp("", "reroll-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is a temporary folder
	q, err := queue.Open(ctx, queue.Options{StoreDir: dir})
	if err != nil {
		return err
	}
	defer q.Close(ctx) //nolint:errcheck // what it stored was counted
	bare, took, err := inParallel(ctx, func(ctx context.Context, sender int) ([]time.Duration, error) { return puts(ctx, q, sender) })
	if err != nil {
		return err
	}
	row("  bare loop of the queue", "%.0f/s; %s", bare, percentiles(took))
	row("  ratio", "%.2f", bare/rate)
	return nil
}

// inParallel has all senders send, and returns how many hints a second they had acknowledged, and how long each body took.
func inParallel(ctx context.Context, send func(ctx context.Context, sender int) ([]time.Duration, error)) (rate float64, took []time.Duration, err error) {
	each := make([][]time.Duration, senders)
	g, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for i := range senders {
		g.Go(func() (err error) { each[i], err = send(ctx, i); return err })
	}
	if err := g.Wait(); err != nil {
		return 0, nil, err
	}
	rate = senders * bodies * bodyEvents / time.Since(began).Seconds()
	for _, of := range each {
		took = append(took, of...)
	}
	return rate, took, nil
}

func configName(sender, body, event int) string {
	return fmt.Sprintf("config-%d-%d-%d", sender, body, event)
}

// sends posts the bodies of one sender. It waits as long as the answer says.
func (b *bench) sends(ctx context.Context, sender int) (took []time.Duration, err error) {
	s, err := b.line.NewSender()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for n := range bodies {
		body := bytes.NewBufferString(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[`)
		for k := range bodyEvents {
			if k > 0 {
				body.WriteByte(',')
			}
			fmt.Fprintf(body, auditEvent, configName(sender, n, k))
		}
		body.WriteString("]}")
		began := time.Now()
		if err := line.Poll(ctx, func(ctx context.Context) error {
			code, err := s.Audit(ctx, body.Bytes())
			if err == nil && code/100 != http.StatusOK/100 {
				err = fmt.Errorf("status %d", code)
			}
			return err
		}); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

// puts stores what sends does.
func puts(ctx context.Context, q *queue.Queue, sender int) (took []time.Duration, err error) {
	for n := range bodies {
		hints := make([]reloader.Hint, bodyEvents)
		for k := range hints {
			hints[k] = reloader.Hint{
				Cluster: line.ClusterName, Config: reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: configName(sender, n, k)},
				Verb: reloader.VerbUpdate, Source: reloader.SourceAudit, Time: time.Now(), Received: time.Now(),
				Actor: reloader.Actor{User: "system:serviceaccount:argocd:argocd-application-controller"},
			}
		}
		began := time.Now()
		if err := q.Put(ctx, hints); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}
