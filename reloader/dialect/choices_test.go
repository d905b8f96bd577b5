package dialect_test

import (
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
	rollout  = "reloader.stakater.com/rollout-strategy"
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
		"negative":       {reason: "no pause", kind: "Deployment", on: annotations{period: "-5m"}},
		"beyond a week":  {reason: "taken for a mistake", kind: "Deployment", on: annotations{period: "200h"}},
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

func TestChosenStrategy(t *testing.T) {
	set := dialect.Set{dialect.Stakater(dialect.StakaterOptions{})}
	for name, c := range map[string]struct{ kind, value, want string }{
		"restart":        {"Rollout", "restart", "restart"},
		"rollout":        {"Rollout", "rollout", ""},
		"another word":   {"Rollout", "Restart", ""},
		"not a Rollout":  {"Deployment", "restart", ""},
		"says nothing":   {"Rollout", "", ""},
		"not even words": {"Rollout", "\x00", ""},
	} {
		if got := set.Compile(ofKind(c.kind, annotations{rollout: c.value})).Chosen.Strategy; got != c.want {
			t.Errorf("%s: strategy %q, want %q", name, got, c.want)
		}
	}
}

func TestFaultyChoicesAreProblems(t *testing.T) {
	d := dialect.Stakater(dialect.StakaterOptions{})
	w := ofKind("Deployment", annotations{auto: "true", period: "soon", rollout: "restart"})
	plan := dialect.Set{d}.Compile(w)
	got := strings.Join(plan.Problems, "\n")
	for _, want := range []string{period + `: "soon" is not a duration`, rollout + ": says nothing on a Deployment, only on a Rollout"} {
		if !plan.OptedIn() || !strings.Contains(got, want) {
			t.Errorf("problems %q, want %q", got, want)
		}
	}
}

func FuzzPause(f *testing.F) {
	f.Add("5m", "2026-11-21T08:00:00Z")
	f.Add("-1ns", "")
	f.Add("9223372036854775807ns", "9999-12-31T23:59:59Z")
	set := dialect.Set{dialect.Stakater(dialect.StakaterOptions{})}
	f.Fuzz(func(t *testing.T, p, at string) {
		got := set.Compile(ofKind("Deployment", annotations{period: p, pausedAt: at})).Chosen.Pause
		if got.Period < 0 || got.Period > 7*24*time.Hour {
			t.Fatalf("period %s", got.Period)
		}
		if !got.Begun || !got.Until.IsZero() && got.Period == 0 {
			t.Fatalf("%+v: a pause without a period ends at once", got)
		}
	})
}
