package main

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

// hubWriter brings the records of one config and its dependents to a hub.
type hubWriter struct {
	js              jetstream.JetStream
	cluster, object string
	sent            *sent
	// last has the sequence of the newest record of each object.
	last map[string]uint64
	// every is the time between two records, the first one at start; as fast as they are taken if zero.
	every time.Duration
	start time.Time
	// n counts the records, and changed names the last change.
	n       int
	changed string
}

func (w *hubWriter) write(ctx context.Context, end time.Time) error {
	for ; ; w.n++ {
		due := time.Now()
		if w.every > 0 {
			due = w.start.Add(w.every * time.Duration(w.n))
		}
		if !due.Before(end) || !until(ctx, due) {
			return ctx.Err()
		}
		var err error
		if of := w.n % (1 + hubReloads); of == 0 {
			_, err = w.putChange(ctx)
		} else {
			err = w.putReload(ctx, of)
		}
		if err != nil {
			return err
		}
		w.sent.add(time.Since(due))
	}
}

// put stores a record behind the last one of its object, as a forwarder does.
func (w *hubWriter) put(ctx context.Context, subject string, data []byte) error {
	m := &nats.Msg{Subject: subject, Data: data, Header: nats.Header{
		"Reroll-Origin": {fmt.Sprintf("20260101T000000.000000000 %d", w.n+1)}, "Reroll-Origin-Proof": {fmt.Sprintf("0 %d", w.n)},
		"ce-id": {subject}, "ce-source": {w.cluster}, "ce-type": {"dev.reroll.record"}, "ce-specversion": {"1.0"},
	}}
	ack, err := w.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(w.last[subject]))
	if err == nil {
		w.last[subject] = ack.Sequence
	}
	return err
}

var hubCandidates = []reloader.Candidate{{
	Actor: reloader.Actor{User: "system:serviceaccount:argocd:argocd-application-controller", UserAgent: "argocd-application-controller/v3.1.0", FieldManager: "argocd-controller"},
	Verb:  "patch", AuditID: "7f0c6dd1-9e2b-4c55-8d0a-000000000001", Basis: reloader.BasisOnlyWriter,
}}

func (w *hubWriter) config() reloader.Config {
	return reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: w.object}
}

func (w *hubWriter) sum(n int) string { return fmt.Sprintf("%064d", n) }

// putChange stores a change and returns its ID.
func (w *hubWriter) putChange(ctx context.Context) (string, error) {
	digest := func(n int) reloader.Digest {
		return reloader.Digest{KeyID: "03f3c349c140", Sum: w.sum(n), Keys: map[string]string{"settings.yaml": "948c2036b155b40b"}}
	}
	now := time.Now()
	c := reloader.Change{
		Cluster: w.cluster, Config: w.config(), Type: reloader.ChangeUpdated, UID: "5f0d0a3e-7b1c-4c0f-9d8e-3a2b1c0d4e5f",
		ResourceVersion: fmt.Sprint(w.n), Old: digest(w.n), New: digest(w.n + 1), Keys: []reloader.KeyChange{{Key: "settings.yaml", Op: reloader.KeyChanged}},
		Candidates: hubCandidates, Source: reloader.SourceAudit, RequestedAt: now, ReceivedAt: now, VerifiedAt: now,
	}
	c.ID = reloader.ChangeID(c)
	w.changed = c.ID
	data, err := reloader.Encode(c)
	if err != nil {
		return "", err
	}
	return c.ID, w.put(ctx, "reroll.change."+w.cluster+".configmap.shop."+w.object, data)
}

// putReload stores a reload of one of the dependents for the last change.
func (w *hubWriter) putReload(ctx context.Context, of int) error {
	now := time.Now()
	r := reloader.Reload{
		Cluster: w.cluster, Workload: reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: fmt.Sprintf("%s-%d", w.object, of)},
		UID: "0c4a3f0e-1d55-4b0c-9f6a-0b8f2a3c7d11", Dialect: "stakater", Strategy: "env-vars", Outcome: reloader.ReasonReloaded,
		Causes: []reloader.Cause{{
			ChangeID: w.changed, Config: w.config(), Why: reloader.ReasonAuto, Clause: "reloader.stakater.com/auto", OldSum: w.sum(w.n), NewSum: w.sum(w.n + 1),
			Keys: []reloader.KeyChange{{Key: "settings.yaml", Op: reloader.KeyChanged}}, Candidates: hubCandidates, Source: reloader.SourceAudit,
			RequestedAt: now, ReceivedAt: now, VerifiedAt: now, Container: "main",
		}},
		Attempts: 1, Generation: int64(w.n), DecidedAt: now, PatchedAt: now,
	}
	r.ID = reloader.ReloadID(w.cluster, r.UID, r.Causes)
	data, err := reloader.Encode(r)
	if err != nil {
		return err
	}
	return w.put(ctx, "reroll.reload."+w.cluster+".deployment.shop."+r.Workload.Name, data)
}
