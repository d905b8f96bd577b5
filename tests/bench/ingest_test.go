//go:build nightly

package bench

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/tests/line"
)

// senders post at once, each bodies of that many events, one after the other.
const senders, bodyEvents, bodies = 8, 50, 100

// auditEvent is an event of the level Metadata, as an API server sends it. It wants the name of a ConfigMap.
const auditEvent = `{"level":"Metadata","auditID":"5a0a4e9f-7f4e-4b34-9b56-000000000000","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/shop/configmaps/%[1]s",` +
	`"verb":"update","user":{"username":"system:serviceaccount:argocd:argocd-application-controller","groups":["system:serviceaccounts","system:authenticated"]},` +
	`"sourceIPs":["10.0.13.77"],"userAgent":"argocd-application-controller/v3.2.1 (linux/amd64) kubernetes/$Format",` +
	`"objectRef":{"resource":"configmaps","namespace":"shop","name":"%[1]s","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":200},` +
	`"requestReceivedTimestamp":"2026-11-21T12:00:00.123456Z","stageTimestamp":"2026-11-21T12:00:00.123456Z",` +
	`"annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":""}}`

// BenchmarkIngest: how many hints a second are on disk when several API servers send events of different configs, next to as many callers of the
// queue that have the hints already.
func BenchmarkIngest(b *testing.B) {
	r := start(b, often, window0)
	ours := inParallel(r, func(ctx context.Context, sender int) (took []time.Duration, err error) {
		s, err := r.Line.NewSender()
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
			err := line.Poll(ctx, func(ctx context.Context) error { // again as late as the answer says
				code, err := s.Audit(ctx, body.Bytes())
				if err == nil && code/100 != http.StatusOK/100 {
					err = fmt.Errorf("status %d", code)
				}
				return err
			})
			if err != nil {
				return nil, err
			}
			took = append(took, time.Since(began))
		}
		return took, nil
	}, "body")
	q, err := queue.Open(b.Context(), queue.Options{StoreDir: b.TempDir()})
	r.Must(err)
	defer q.Close(context.Background()) //nolint:errcheck // what it stored was counted
	bare := inParallel(r, func(ctx context.Context, sender int) (took []time.Duration, err error) {
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
	}, "bare")
	b.ReportMetric(ours, "hints/s")
	b.ReportMetric(bare, "bare/s")
	b.ReportMetric(bare/ours, "ratio")
}

// inParallel has all senders send, and returns how many hints a second they had acknowledged.
func inParallel(r *line.Room, send func(ctx context.Context, sender int) ([]time.Duration, error), what string) (rate float64) {
	r.T.Helper()
	each := make([][]time.Duration, senders)
	g, ctx := errgroup.WithContext(r.Ctx())
	began := time.Now()
	for i := range senders {
		g.Go(func() (err error) { each[i], err = send(ctx, i); return err })
	}
	r.Must(g.Wait())
	rate = senders * bodies * bodyEvents / time.Since(began).Seconds()
	report(r.T.(*testing.B), what, slices.Concat(each...))
	return rate
}

func configName(sender, body, event int) string {
	return fmt.Sprintf("config-%d-%d-%d", sender, body, event)
}
