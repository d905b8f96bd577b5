//go:build nightly

package stakater_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
)

// metricNames are those of Stakater Reloader and of its client, with their types.
const metricNames = `
reloader_reload_executed_total counter
reloader_reload_executed_total_by_namespace counter
rest_client_requests_total counter
rest_client_request_duration_seconds histogram
`

// TestMetrics: an edit is counted under the names that dashboards know.
func TestMetrics(t *testing.T) {
	p := withFlags(t, nil, "--set=metrics.countByNamespace=true")
	w := p.play(t, oneEdit)
	samples := []string{
		`reloader_reload_executed_total{success="true"} [1-9]`, `reloader_reload_executed_total{success="false"} 0`,
		`reloader_reload_executed_total_by_namespace{namespace="` + w.Namespace("main") + `",success="true"} [1-9]`,
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := line.Poll(ctx, func(ctx context.Context) error { // what was done is counted after it
		text, err := shared.Reroll.Metrics(ctx)
		if err != nil {
			return err
		}
		var errs []error
		for name := range strings.Lines(strings.TrimSpace(metricNames)) {
			if !strings.Contains(text, "# TYPE "+strings.TrimSpace(name)+"\n") {
				errs = append(errs, fmt.Errorf("there is no %s", name))
			}
		}
		for _, sample := range samples {
			pattern := strings.ReplaceAll(regexp.QuoteMeta(sample), `\[1-9\]`, "[1-9]")
			if !regexp.MustCompile(`(?m)^` + pattern).MatchString(text) {
				errs = append(errs, fmt.Errorf("there is no %s", sample))
			}
		}
		return errors.Join(errs...)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestMetricsByNamespace: the metric with a series for each namespace is there only if the settings ask for it.
func TestMetricsByNamespace(t *testing.T) {
	withFlags(t, nil)
	text, err := shared.Reroll.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "_by_namespace") || !strings.Contains(text, "reloader_reload_executed_total") {
		t.Errorf("metrics without metrics.countByNamespace:\n%s", text)
	}
}

// TestAlerts: each sink gets the sentence in its own form, once for a reload.
func TestAlerts(t *testing.T) {
	for sink, want := range map[string]string{
		"slack": `{"attachments":[{"author_name":"Reloader","color":"good","text":"here : Reloader detected changes in *app* of type *CONFIGMAP* in namespace *NS*. Hence reloaded *web* of type *Deployment* in namespace *NS*"}]}`,
		"teams": `{"text":"here : Reloader detected changes in *app* of type *CONFIGMAP* in namespace *NS*. Hence reloaded *web* of type *Deployment* in namespace *NS*"}`,
		"gchat": `{"text":"here : Reloader detected changes in *app* of type *CONFIGMAP* in namespace *NS*. Hence reloaded *web* of type *Deployment* in namespace *NS*"}`,
		"text":  `here : Reloader detected changes in app of type CONFIGMAP in namespace NS. Hence reloaded web of type Deployment in namespace NS`,
	} {
		t.Run(sink, func(t *testing.T) {
			r := newReceiver(t)
			p := withFlags(t, []string{"REROLL_NOTIFICATIONS_URL=" + r.URL}, "--set=notifications.sink="+sink, "--set=notifications.additionalInfo=here")
			namespace := p.play(t, oneEdit).Namespace("main")
			want := strings.ReplaceAll(want, "NS", namespace)
			got := awaitBodies(t, r, "web")
			if len(got) != 1 || strings.TrimSpace(got[0]) != want {
				t.Errorf("received %q, want once %s", got, want)
			}
			if !countsAlerts(t) {
				t.Error("alerts are sent and not counted")
			}
		})
	}
}

// countsAlerts reports whether the process counts alerts, which it does if it is to send any.
func countsAlerts(t *testing.T) bool {
	t.Helper()
	text, err := shared.Reroll.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(text, "reroll_alerts_total")
}

// TestAlertsOnlyOnRequest: without an address nobody is told.
func TestAlertsOnlyOnRequest(t *testing.T) {
	withFlags(t, nil).play(t, oneEdit)
	if countsAlerts(t) {
		t.Error("alerts are counted")
	}
}

// awaitBodies waits until something about a text was received, and returns it.
func awaitBodies(t *testing.T, r *receiver, text string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTime)
	defer cancel()
	err := line.Poll(ctx, func(context.Context) error {
		if len(r.about(text)) == 0 {
			return fmt.Errorf("nothing about %s was received", text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.about(text)
}

// TestWebhook: --webhook-url is called once for each workload that would roll, with who, what and which, and nothing rolls.
func TestWebhook(t *testing.T) {
	r := newReceiver(t)
	p := withFlags(t, nil, "--webhook-url="+r.URL)
	namespace := p.play(t, strings.ReplaceAll(oneEdit, "Deployment/web: 1", "Deployment/web: 0")).Namespace("main")
	got := awaitBodies(t, r, `"web"`)
	if len(got) != 1 {
		t.Fatalf("received %q, want one call", got)
	}
	var payload struct {
		Kind, Namespace, ResourceName string
	}
	if err := json.Unmarshal([]byte(got[0]), &payload); err != nil {
		t.Fatal(err)
	}
	if payload.Kind != "ConfigMap" || payload.Namespace != namespace || payload.ResourceName != "app" || !strings.Contains(got[0], `"candidates":[{"user":`) {
		t.Errorf("received %s", got[0])
	}
}

// TestWebhookFailure: a receiver that fails is called again, until it says that it has done its work.
func TestWebhookFailure(t *testing.T) {
	r := newReceiver(t)
	r.failing, r.failures = `"web"`, 2
	p := withFlags(t, nil, "--webhook-url="+r.URL)
	p.play(t, strings.ReplaceAll(oneEdit, "Deployment/web: 1", "Deployment/web: 0"))
	ctx, cancel := context.WithTimeout(t.Context(), startTime)
	defer cancel()
	if err := line.Poll(ctx, func(context.Context) error {
		if n := len(r.about(`"web"`)); n != 3 {
			return fmt.Errorf("the receiver that failed twice was called %d times", n)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// TestLive: the path that liveness probes ask answers as theirs does.
func TestLive(t *testing.T) {
	withFlags(t, nil)
	if code, answer, err := shared.Reroll.Probe(t.Context(), "/live"); err != nil || code != http.StatusOK || strings.TrimSpace(answer) != "alive" {
		t.Errorf("/live: %d %q, %v", code, answer, err)
	}
}

// TestNoProfiles: nothing shows profiles of the process.
func TestNoProfiles(t *testing.T) {
	withFlags(t, nil)
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline"} {
		if code, answer, err := shared.Reroll.Probe(t.Context(), path); err != nil || code != http.StatusNotFound {
			t.Errorf("%s: %d %.80q, %v", path, code, answer, err)
		}
	}
}
