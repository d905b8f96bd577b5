package verdict

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// TestOfCluster: every fault of a cluster has its words and, where a command helps, the command.
func TestOfCluster(t *testing.T) {
	var positions []reloader.Position
	gap := func(lost bool, age time.Duration) func(*reloader.ClusterStatus) {
		return func(*reloader.ClusterStatus) {
			positions = []reloader.Position{{Of: "STATE"}, {Of: "HISTORY", Gaps: []reloader.Gap{{Lost: lost, Records: 3, At: now.Add(-age)}}}}
		}
	}
	feed := func(state string) func(*reloader.ClusterStatus) {
		return func(s *reloader.ClusterStatus) {
			s.Feeds = []reloader.FeedStatus{{Address: "10.0.0.1:6443", State: state}}
		}
	}
	for name, tc := range map[string]struct {
		edit       func(*reloader.ClusterStatus)
		health     Health
		says, next string
		author     string
	}{
		"all is well":          {func(*reloader.ClusterStatus) {}, Healthy, "", "", "the audit feed is not set up"},
		"a feed that is heard": {feed("heard"), Healthy, "", "", "the user in the event"},
		"no word yet":          {feed("waiting"), Healthy, "", "", ""},
		"silent feed":          {feed("silent"), Degraded, "No audit events come from the API server at 10.0.0.1:6443.", "reroll audit check", "while no audit events come"},
		"a policy without Secrets": {func(s *reloader.ClusterStatus) {
			feed("silent")(s)
			s.Feeds[0].Quiet = []reloader.ConfigKind{reloader.Secret}
		}, Degraded, "No audit events of Secrets come from the API server at 10.0.0.1:6443.", "reroll audit check", "while no audit events come"},
		"refused canaries":       {feed("refused"), Degraded, "refuses canaries", "reroll check", "while no audit events come"},
		"not ready":              {func(s *reloader.ClusterStatus) { s.Ready = false }, Degraded, "still recording", "kubectl -n ops get pods", "audit feed"},
		"faulty part":            {func(s *reloader.ClusterStatus) { s.Faults = []string{"nats: away"} }, Degraded, "The dispatcher is not well: nats: away.", "kubectl -n ops get pods", "audit feed"},
		"unreadable control":     {func(s *reloader.ClusterStatus) { s.ControlProblem = "freeze: what?" }, Degraded, "freeze: what?", "kubectl -n ops edit configmap reroll-control", "audit feed"},
		"dropped records":        {gap(false, time.Hour), Degraded, "Up to 3 records of the history are missing here", "reroll get clusters c1 -o yaml", "audit feed"},
		"lost records":           {gap(true, time.Hour), Degraded, "Records of the history may be missing here", "reroll get clusters c1 -o yaml", "audit feed"},
		"away":                   {func(s *reloader.ClusterStatus) { s.At = now.Add(-2 * time.Minute) }, Away, "no status for 2m0s", "kubectl -n ops get pods", "audit feed"},
		"a clock that is behind": {func(s *reloader.ClusterStatus) { s.At, s.StoredAt = now.Add(-time.Hour), now }, Healthy, "", "", "audit feed"},
	} {
		s := &reloader.ClusterStatus{Cluster: "c1", Namespace: "ops", At: now, Ready: true}
		positions = nil
		tc.edit(s)
		got := OfCluster(s, positions, now)
		var first Problem
		if len(got.Problems) > 0 {
			first = got.Problems[0]
		}
		if got.Health != tc.health || (len(got.Problems) == 0) != (tc.health == Healthy) || !strings.Contains(first.Message, tc.says) || first.Next != tc.next {
			t.Errorf("%s: %+v, want %s: %s Next: %s", name, got, tc.health, tc.says, tc.next)
		}
		if !strings.Contains(got.Attribution, tc.author) || (got.Attribution == "") != (tc.author == "") {
			t.Errorf("%s: author: %q, want %q", name, got.Attribution, tc.author)
		}
	}
	if got := OfCluster(nil, nil, now); got.Health != Unknown || got.Health.IsUp() || len(got.Problems) != 1 {
		t.Errorf("no status: %+v", got)
	}
}

// TestHoldsBack: what holds back workloads of a cluster has its words and the command that ends it, until it has ended.
func TestHoldsBack(t *testing.T) {
	soon, over := now.Add(time.Hour), now.Add(-time.Hour)
	s := &reloader.ClusterStatus{Cluster: "c1", Namespace: "ops", At: now, Ready: true, DryRun: true, Backlog: reloader.Backlog{
		Freeze:  &reloader.Pause{Reason: "a release", By: "alice", Since: over, Until: soon},
		Pauses:  []reloader.Pause{{Until: over}, {Until: soon, Reason: "a sale"}, {Namespace: "shop", Selector: "app=web", By: "bob", Until: soon}},
		Windows: []reloader.Window{{Schedule: "0 1 * * * 1h", Next: soon}, {Schedule: "0 0 30 2 * 1h"}, {Schedule: "0 9 * * * 9h", Open: true}},
	}}
	const until = "until 2026-11-21 13:00:00 UTC."
	want := []Problem{
		{"This is a dry run: Reroll writes nothing to the cluster.", "", reloader.ReasonDryRun},
		{`All reloads are frozen ("a release") by alice since 2026-11-21 11:00:00 UTC ` + until, "reroll resume -A --reroll-namespace ops", reloader.ReasonFrozen},
		{`Reloads are paused ("a sale") ` + until, "reroll resume -A --reroll-namespace ops", reloader.ReasonPausedByOperator},
		{"Reloads in namespace shop of workloads with app=web are paused by bob " + until, "reroll resume -n shop -l 'app=web' --reroll-namespace ops", reloader.ReasonPausedByOperator},
		{"The maintenance window 0 1 * * * 1h is closed, and opens at 2026-11-21 13:00:00 UTC.", "", reloader.ReasonOutsideWindow},
		{"The maintenance window 0 0 30 2 * 1h is closed, and never opens.", "", reloader.ReasonOutsideWindow},
	}
	got := OfCluster(s, nil, now)
	if !slices.Equal(got.HoldsBack, want) || got.Health != Healthy {
		t.Errorf("%s: %+v", got.Health, got.HoldsBack)
	}
	s.ControlProblem = "line 1: unknown key"
	if got := OfCluster(s, nil, now); slices.ContainsFunc(got.HoldsBack, func(p Problem) bool { return p.Reason == reloader.ReasonFrozen }) || got.Health != Degraded {
		t.Errorf("what must be corrected first is offered to be ended: %+v", got)
	}
}
