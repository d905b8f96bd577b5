package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// want is what findings must have: each a verdict and a part of its message. Other findings must be OK or Skipped.
type want map[string]grade

func (w want) check(t *testing.T, found findings) {
	t.Helper()
	for part, v := range w {
		if !slices.ContainsFunc(found, func(one finding) bool { return one.Verdict == v && strings.Contains(one.Message, part) }) {
			t.Errorf("%s is not found with %q", v, part)
		}
	}
	for _, one := range found {
		expected := one.Verdict == fine || one.Verdict == skipped
		for part, v := range w {
			expected = expected || one.Verdict == v && strings.Contains(one.Message, part)
		}
		if !expected {
			t.Errorf("unexpected: %+v", one)
		}
		if (one.Verdict == wrong || one.Verdict == careful) && one.Fix == "" {
			t.Errorf("nobody is told how to mend %+v", one)
		}
	}
	if t.Failed() {
		t.Logf("%+v", found)
	}
}

// TestCluster: each problem of a cluster is one finding in the words of its verdict; what spoils the dispatcher itself is an error.
func TestCluster(t *testing.T) {
	const address = "10.0.0.1:6443"
	feed := func(state string) func(*reloader.ClusterStatus) {
		return func(s *reloader.ClusterStatus) { s.Feeds[0].State = state }
	}
	cases := map[string]struct {
		edit func(*reloader.ClusterStatus)
		want want
	}{
		"healthy":         {func(*reloader.ClusterStatus) {}, want{"workloads, status": fine}},
		"no canaries":     {func(s *reloader.ClusterStatus) { s.Feeds = nil }, want{"the audit feed is not set up": skipped}},
		"silent":          {feed("silent"), want{"No audit events come from the API server at " + address: careful}},
		"refused":         {feed("refused"), want{address + " refuses canaries": careful}},
		"NATS":            {func(s *reloader.ClusterStatus) { s.Faults = []string{"nats: no answer"} }, want{"The dispatcher is not well: nats: no answer.": wrong}},
		"drift":           {func(s *reloader.ClusterStatus) { s.Drift = 3 }, want{"the resync alone found 3 changes": careful}},
		"not ready":       {func(s *reloader.ClusterStatus) { s.Ready = false }, want{"still recording": careful}},
		"away":            {func(s *reloader.ClusterStatus) { s.At = now.Add(-2 * time.Minute) }, want{"no status for 2m0s": wrong}},
		"spoilt controls": {func(s *reloader.ClusterStatus) { s.ControlProblem = "pauses[0]: until must be a time" }, want{"pauses[0]": wrong}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			status := &reloader.ClusterStatus{Cluster: "local", At: now, Ready: true, Hearing: reloader.Hearing{Feeds: []reloader.FeedStatus{{Address: address, State: "heard", LastAt: now}}}}
			c.edit(status)
			cluster := view.FromCluster(&projection.ClusterState{Name: "local", Status: status}, now)
			var found findings
			found.checkCluster(&session{globals: &globals{}, cmd: Root("v1.2.3"), now: now}, cluster)
			c.want.check(t, found)
			if told := slices.ContainsFunc(found, func(one finding) bool { return one.Verdict != skipped && one.Verdict != fine }); told != (name != "healthy" && name != "no canaries") {
				t.Errorf("%+v", found)
			}
		})
	}
	var found findings
	found.checkCluster(&session{globals: &globals{}, cmd: Root("v1.2.3"), now: now}, view.Cluster{Standing: verdict.Standing{Health: verdict.Degraded}})
	want{"it is Degraded, and does not say why": careful}.check(t, found)
}
