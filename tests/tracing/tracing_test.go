package tracing

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/tracing/collector"
)

const (
	patience  = 6 * time.Minute
	manifests = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
data: {GREETING: hello}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cart, namespace: default, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  replicas: 1
  selector: {matchLabels: {app: cart}}
  template:
    metadata: {labels: {app: cart}}
    spec: {containers: [{name: cart, image: example.com/cart, envFrom: [{configMapRef: {name: settings}}]}]}
`
)

// stages are the spans of a reload, each with the one that it is under.
var stages = []struct{ name, under string }{
	{"receive", ""}, {"commit", "receive"}, {"verify", "commit"}, {"decide", "verify"}, {"patch", "decide"}, {"settle", "decide"}, {"rollout", "settle"},
}

func TestOneEditIsOneTrace(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	spans := collector.Start()
	t.Cleanup(spans.Close)
	l, err := line.Start(ctx, line.Options{Environment: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + spans.URL, "OTEL_BSP_SCHEDULE_DELAY=200"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	cmd := l.Kube.Command(ctx, "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(manifests)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("apply: %v: %s", err, output)
	}
	poll(ctx, t, func(ctx context.Context) error {
		n, err := l.Reroll.Baselines(ctx, "default", "cart")
		if err == nil && n != 1 {
			err = fmt.Errorf("%d of 1 configs have a baseline", n)
		}
		return err
	})
	if _, err := l.Kube.Kubectl(ctx, "--namespace=default", "patch", "configmap", "settings", "--type=merge", "-p", `{"data":{"GREETING":"good morning"}}`); err != nil {
		t.Fatal(err)
	}

	var reloads []line.Reload
	poll(ctx, t, func(ctx context.Context) (err error) {
		if reloads, err = l.Reroll.Reloads(ctx, "default"); err == nil && (len(reloads) == 0 || len(spans.Named("rollout")) == 0) {
			err = fmt.Errorf("%d reloads, %d rollouts were told of", len(reloads), len(spans.Named("rollout")))
		}
		return err
	})
	auditID := reloads[0].Causes[0].Candidates[0].AuditID
	var above map[string]*trace.Span
	poll(ctx, t, func(context.Context) (err error) {
		above, err = ofTrace(spans, strings.ReplaceAll(auditID, "-", ""))
		return err
	})
	for _, stage := range stages {
		s := above[stage.name]
		if stage.under != "" && !bytes.Equal(s.ParentSpanId, above[stage.under].SpanId) {
			t.Errorf("%s is not under %s", stage.name, stage.under)
		}
		t.Logf("%-8s %6.1f ms", stage.name, float64(s.EndTimeUnixNano-s.StartTimeUnixNano)/1e6)
	}
	if got := collector.Attributes(above["settle"]); got["reroll.reload"] != reloads[0].ID || got["reroll.workload"] == "" {
		t.Errorf("the reload is %s, and told of as %v", reloads[0].ID, got)
	}
	exemplars(ctx, t, l, strings.ReplaceAll(auditID, "-", ""))
}

// exemplars asks for metrics as a Prometheus does that stores exemplars: times of the reload name its trace.
func exemplars(ctx context.Context, t *testing.T, l *line.Line, traceID string) {
	t.Helper()
	for _, metric := range []string{
		"reroll_ingest_event_age_seconds_bucket", "reroll_reload_stage_seconds_bucket", "reroll_change_to_patch_seconds_bucket",
		"reroll_decision_to_patch_seconds_bucket", "reroll_rollout_duration_seconds_bucket",
	} {
		named := regexp.MustCompile(`(?m)^` + metric + `\{.*\} \d+ # \{trace_id="` + traceID + `"\} `)
		poll(ctx, t, func(ctx context.Context) error {
			text, err := openMetrics(ctx, l.Reroll.Ops+"/metrics")
			if err == nil && !named.MatchString(text) {
				err = fmt.Errorf("no bucket of %s names the trace %s", metric, traceID)
			}
			return err
		})
	}
}

// openMetrics returns metrics in the format that has exemplars.
func openMetrics(ctx context.Context, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0; charset=utf-8")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(answer.Body)
	if kind := answer.Header.Get("Content-Type"); err == nil && !strings.HasPrefix(kind, "application/openmetrics-text") {
		err = fmt.Errorf("%s answers with %s, not with OpenMetrics", url, kind)
	}
	return string(text), err
}

// ofTrace returns the span of each stage of a trace.
func ofTrace(spans *collector.Collector, id string) (map[string]*trace.Span, error) {
	found := map[string]*trace.Span{}
	for _, stage := range stages {
		for _, s := range spans.Named(stage.name) {
			if hex.EncodeToString(s.TraceId) == id {
				found[stage.name] = s
			}
		}
		if found[stage.name] == nil {
			return nil, fmt.Errorf("no span called %s is in the trace %s", stage.name, id)
		}
	}
	return found, nil
}

func poll(ctx context.Context, t *testing.T, check func(context.Context) error) {
	t.Helper()
	if err := line.Poll(ctx, check); err != nil {
		t.Fatal(err)
	}
}
