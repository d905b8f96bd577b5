package dialect_test

import (
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
