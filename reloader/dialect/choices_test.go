package dialect_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

const (
	period   = "deployment.reloader.stakater.com/pause-period"
	pausedAt = "deployment.reloader.stakater.com/paused-at"
)

func ofKind(kind string, a annotations) *workload.Workload {
	return &workload.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "app", Annotations: a}, Kind: kind}
}

func TestPause(t *testing.T) {
	began := "2026-11-21T08:00:00Z"
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		reason string
		kind   string
		on     annotations
		want   dialect.Pause
	}{
		"nothing":        {reason: "no pause", kind: "Deployment"},
		"asked":          {reason: "a Go duration", kind: "Deployment", on: annotations{period: "1h30m"}, want: dialect.Pause{Period: 90 * time.Minute, Key: pausedAt}},
		"begun too far":  {reason: "no record can hold its end: it is over", kind: "Deployment", on: annotations{period: "5m", pausedAt: "9999-12-31T23:59:59-23:59"}, want: dialect.Pause{Period: 5 * time.Minute, Key: pausedAt, Begun: true}},
		"begun":          {reason: "until its period is over", kind: "Deployment", on: annotations{period: "5m", pausedAt: began}, want: dialect.Pause{Period: 5 * time.Minute, Key: pausedAt, Begun: true, Until: at.Add(5 * time.Minute)}},
		"period gone":    {reason: "it ends at once", kind: "Deployment", on: annotations{pausedAt: began}, want: dialect.Pause{Key: pausedAt, Begun: true}},
		"bad time":       {reason: "it ends at once", kind: "Deployment", on: annotations{period: "5m", pausedAt: "noon"}, want: dialect.Pause{Period: 5 * time.Minute, Key: pausedAt, Begun: true}},
		"bad period":     {reason: "no pause", kind: "Deployment", on: annotations{period: "soon"}},
		"not Deployment": {reason: "others cannot be paused", kind: "StatefulSet", on: annotations{period: "5m", pausedAt: began}},
	}
	set := dialect.Set{dialect.Stakater(dialect.StakaterOptions{})}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, set.Compile(ofKind(c.kind, c.on)).Chosen.Pause); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// FuzzChoices reads what a workload chooses for itself: how it is marked, how long it waits, and when.
func FuzzChoices(f *testing.F) {
	for _, value := range []string{"5m", "-1ns", "9223372036854775807ns", "restart", "1000", "1001", "-0", "0 22 * * * 6h; @daily 1h", "CRON_TZ=x * * * * * 1h", ""} {
		f.Add("reroll.dev/window", value, "reroll.dev/min-interval", value)
		f.Add("reroll.dev/maintenance-window", value, "reroll.dev/window", value)
		f.Add("reroll.dev/strategy", value, "reloader.stakater.com/rollout-strategy", value)
	}
	for key, value := range map[string]string{
		"http-reload": "POST :web/-/reload", "http-verify": "GET :9090/metrics?a=b config_reloads_total", "http-secret": "key", "http-fallback": "none",
		"exec-reload": `["nginx","-s","reload"]`, "exec-container": "main", "strategy": "refresh",
	} {
		f.Add("reroll.dev/"+key, value, "reroll.dev/strategy", "http")
		f.Add("reroll.dev/"+key, value, "reroll.dev/strategy", "exec")
	}
	set := dialect.All(dialect.StakaterOptions{})
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 string) {
		for _, kind := range []string{"Deployment", "Rollout"} {
			w := ofKind(kind, annotations{k1: v1, k2: v2})
			plan := set.Compile(w)
			chosen := plan.Chosen
			if d := chosen.Debounce; d != nil && (*d < 0 || *d > 24*time.Hour) {
				t.Errorf("debounce window %s", d)
			}
			if d := chosen.MinInterval; d < 0 || d > 7*24*time.Hour {
				t.Errorf("min interval %s", d)
			}
			if got := plan.Chosen.Strategy; !slices.Contains([]string{"", "env-vars", "annotations", "restart"}, got) {
				t.Errorf("strategy %q", got)
			}
			if h := chosen.Hot; h != nil {
				checkHot(t, h)
			}
			if windows := chosen.Maintenance; len(windows) > 1+strings.Count(v1+v2, ";") {
				t.Errorf("%d windows", len(windows))
			}
		}
	})
}

// checkHot fails the test if h could ask a pod for something else than its annotations may say.
func checkHot(t *testing.T, h *dialect.Hot) {
	t.Helper()
	for _, r := range []dialect.Request{h.Reload, h.Verify} {
		if r == (dialect.Request{}) {
			continue
		}
		u, err := url.Parse("http://10.0.0.1:1" + r.Path)
		if err != nil || u.Host != "10.0.0.1:1" || u.RequestURI() != r.Path || u.User != nil || len(r.Path) > 1024 || strings.Contains(u.Path+"/", "/../") {
			t.Errorf("request %+v: %v", r, err)
		}
		again, err := dialect.ParseRequest(r.Method + " :" + r.Port + r.Path)
		if again != r || err != nil {
			t.Errorf("%+v is read again as %+v: %v", r, again, err)
		}
	}
	if h.Strategy == dialect.HTTP && h.Reload.Method == "" || h.Strategy == dialect.Exec && len(h.Command) == 0 {
		t.Errorf("nothing to ask: %+v", h)
	}
}
