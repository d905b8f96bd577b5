package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
)

// ingest measures how fast posts are answered while events come at a rate that no cluster keeps up: first by Reroll, which waits for
// the disk, then by a handler that throws them away.
func (b *bench) ingest(ctx context.Context) error {
	heading(fmt.Sprintf("%d events/s for %s at ingest, batches of %d from %d senders", b.rate, b.time, b.batch(), apiServers))
	address, err := b.ingestAddress()
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(filepath.Join(filepath.Dir(b.line.DataDir()), "client-ca.crt"))
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	ours, err := b.post(ctx, "https://"+address+"/v1/audit/"+line.ClusterName, roots)
	if err != nil {
		return err
	}
	row("Reroll, until stored", "%s", ours)
	if err := b.stored(ctx, ours.events); err != nil {
		return err
	}
	empty := httptest.NewUnstartedServer(http.HandlerFunc(nothing))
	empty.EnableHTTP2 = true
	empty.StartTLS()
	defer empty.Close()
	roots = x509.NewCertPool()
	roots.AddCert(empty.Certificate())
	theirs, err := b.post(ctx, empty.URL, roots)
	if err != nil {
		return err
	}
	row("  a handler that stores nothing", "%s", theirs)
	return nil
}

// listening is what the log says of ingest's address.
var listening = regexp.MustCompile(`listening.*ingest\W+address\W+([0-9.]+:[0-9]+)`)

func (b *bench) ingestAddress() (string, error) {
	found := listening.FindStringSubmatch(b.line.Reroll.Log())
	if found == nil {
		return "", errors.New("the log does not say where ingest listens")
	}
	return found[1], nil
}

// stored waits until every hint is dealt with, and then looks into what the process leaves on the disk: it must be as many as were
// answered with success.
func (b *bench) stored(ctx context.Context, accepted int) error {
	before, err := residentMB(b.line.Reroll.PID())
	if err != nil {
		return err
	}
	start := time.Now()
	err = line.Poll(ctx, func(ctx context.Context) error {
		n, err := b.metric(ctx, "reroll_hints_total")
		if err == nil && int(n) < accepted {
			err = fmt.Errorf("%d of %d hints are looked at", int(n), accepted)
		}
		return err
	})
	if err != nil {
		return err
	}
	row("  the last hint is looked at", "%s later; resident %.0f MB", time.Since(start).Round(10*time.Millisecond), before)
	if err := b.commits(ctx); err != nil {
		return err
	}
	counted, err := b.metric(ctx, "reroll_ingest_hints_total")
	if err != nil {
		return err
	}
	if err := b.line.Reroll.Terminate(ctx); err != nil {
		return err
	}
	last, err := lastHint(ctx, b.line.DataDir())
	if err != nil {
		return err
	}
	row("  accepted, counted, on the disk", "%d, %d, %d", accepted, int(counted), last)
	if int(counted) < accepted || int(last) < accepted {
		return errors.New("something that was accepted is not stored")
	}
	return nil
}

// commits prints how hints were stored together.
func (b *bench) commits(ctx context.Context) error {
	const batch, took = "reroll_queue_batch_messages", "reroll_queue_publish_duration_seconds"
	values := map[string]float64{}
	for _, name := range []string{batch + "_sum", batch + "_count", took + "_sum"} {
		n, err := b.metric(ctx, name+`{stream="HINTS"}`)
		if err != nil {
			return err
		}
		values[name] = n
	}
	n := values[batch+"_count"]
	row("  commits", "%.0f, of %.0f hints and %.1f ms on average", n, values[batch+"_sum"]/n, 1000*values[took+"_sum"]/n)
	return nil
}

// metric returns the sum of the samples of one of Reroll's metrics, or the one sample if name has its labels, too.
func (b *bench) metric(ctx context.Context, name string) (float64, error) {
	text, err := b.line.Reroll.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for sample := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(sample, name); ok && (rest[0] == ' ' || rest[0] == '{') {
			n, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndexByte(rest, ' '):]), 64)
			if err != nil {
				return 0, err
			}
			sum += n
		}
	}
	return sum, nil
}
