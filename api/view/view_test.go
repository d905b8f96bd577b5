package view

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
)

func TestTombstoneShowsNoNewDigest(t *testing.T) {
	last := reloader.Digest{KeyID: "k", Sum: "0a"}
	got := FromChange(&reloader.Change{Type: reloader.ChangeDeleted, Old: last, New: last})
	if got.NewDigest != "" || got.NewDigestKeyID != "" || got.OldDigest != "0a" {
		t.Errorf("a config that is gone has no content: %+v", got)
	}
}

func TestLatencyCountsFromTheRequestThatWaitedLongest(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(1000+seconds), 0) }
	causes := func(requested ...time.Time) []reloader.Cause {
		var list []reloader.Cause
		for _, r := range requested {
			list = append(list, reloader.Cause{RequestedAt: r})
		}
		return list
	}
	cases := map[string]struct {
		reload reloader.Reload
		want   float64 // negative: not known
	}{
		"one request":           {reloader.Reload{Causes: causes(at(0)), PatchedAt: at(2)}, 2},
		"the earliest of three": {reloader.Reload{Causes: causes(at(3), at(1), at(2)), PatchedAt: at(6)}, 5},
		"one without a request": {reloader.Reload{Causes: causes(time.Time{}, at(4), time.Time{}), PatchedAt: at(6)}, 2},
		"no request at all":     {reloader.Reload{Causes: causes(time.Time{}), PatchedAt: at(6)}, -1},
		"nothing written":       {reloader.Reload{Causes: causes(at(1))}, -1},
		"no causes":             {reloader.Reload{PatchedAt: at(1)}, -1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := FromReload(&tc.reload).LatencySeconds
			if (got == nil) != (tc.want < 0) || got != nil && *got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// Lists are [] when empty, so that clients need not tell null from nothing.
func TestNoListIsNull(t *testing.T) {
	for _, v := range []any{
		FromChange(&reloader.Change{}),
		FromReload(&reloader.Reload{Causes: []reloader.Cause{{}}}),
		FromWorkload(&reloader.WorkloadRecord{Edges: []reloader.Edge{{Uses: []reloader.Use{{}}}}}, nil, time.Time{}),
	} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "null") {
			t.Errorf("%T has a null: %s", v, data)
		}
	}
}

// TestExplanationAnswersItsQuestions: a yes does not say what is not, and nothing is said twice.
func TestExplanationAnswersItsQuestions(t *testing.T) {
	config := reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "settings"}
	key := projection.WorkloadKey{Cluster: "local", Workload: reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "web"}}
	reload := &reloader.Reload{ID: "r-1", Cluster: key.Cluster, Workload: key.Workload, Outcome: reloader.ReasonReverted, Message: reloader.Reasons[reloader.ReasonReverted]}
	for name, c := range map[string]struct {
		edge    reloader.Edge
		hold    *reloader.Hold
		reloads []*reloader.Reload
		want    string
	}{
		"not shared": {reloader.Edge{Why: reloader.ReasonNotShared}, nil, nil, "OptIn Yes, Rule No"},
		"reverted":   {reloader.Edge{Why: reloader.ReasonNamed, Handled: reloader.Handled{How: reloader.ReasonReverted}}, nil, []*reloader.Reload{reload}, "OptIn Yes, Rule Yes, Use No, Change Yes, Content Yes r-1"},
		"pending":    {reloader.Edge{Why: reloader.ReasonNamed, Pending: "c-1"}, nil, []*reloader.Reload{reload}, "OptIn Yes, Rule Yes, Use No, Change Yes, Content Waiting, Brakes Yes, Outcome No r-1"},
		"keys":       {reloader.Edge{Why: reloader.ReasonNamed, Handled: reloader.Handled{How: reloader.ReasonKeysUnused}}, nil, nil, "OptIn Yes, Rule Yes, Use No, Change Yes, Content No"},
		"frozen":     {reloader.Edge{Why: reloader.ReasonNamed, Pending: "c-1"}, &reloader.Hold{Reason: reloader.ReasonFrozen}, nil, "OptIn Yes, Rule Yes, Use No, Change Yes, Content Waiting, Brakes Waiting"},
		"never":      {reloader.Edge{Why: reloader.ReasonNamed, Pending: "c-1"}, &reloader.Hold{Reason: reloader.ReasonOutsideWindow}, nil, "OptIn Yes, Rule Yes, Use No, Change Yes, Content Waiting, Brakes Waiting"},
		"refused":    {reloader.Edge{Why: reloader.ReasonNamed, Pending: "c-1"}, &reloader.Hold{Reason: reloader.ReasonRefused}, nil, "OptIn Yes, Rule Yes, Use No, Change Yes, Content Waiting, Brakes No"},
	} {
		t.Run(name, func(t *testing.T) {
			c.edge.Config = config
			x := Explain(Evidence{
				Key: key, Config: config, Workload: &reloader.WorkloadRecord{Workload: key.Workload, Edges: []reloader.Edge{c.edge}, Hold: c.hold}, Reloads: c.reloads,
				ConfigState: &projection.ConfigState{Latest: &reloader.Change{ID: "c-1", Type: reloader.ChangeUpdated}},
			})
			var got, said []string
			for _, s := range x.Steps {
				got = append(got, strings.TrimSpace(s.Step+" "+s.Answer+" "+s.Reload))
				said = append(said, s.Message)
				if (name == "never" && s.Step == "Brakes") != strings.Contains(s.Message, "no maintenance window ever opens") {
					t.Errorf("%+v", s)
				}
				if s.Question == "" || s.Answer == "Yes" && strings.Contains(s.Message, " not ") {
					t.Errorf("%+v", s)
				}
			}
			if strings.Join(got, ", ") != c.want || strings.Count(strings.Join(said, " "), "reverted") > 1 {
				t.Errorf("%q, want %s:\n%q", got, c.want, said)
			}
		})
	}
}

func TestHoldSaysWhetherSomebodyHasToLook(t *testing.T) {
	for _, reason := range reloader.HoldReasons {
		want := reason == reloader.ReasonRefused || reason == reloader.ReasonInvalid || reason == reloader.ReasonFailing
		got := FromWorkload(&reloader.WorkloadRecord{Hold: &reloader.Hold{Reason: reason, Attempts: 3}}, nil, time.Time{}).Hold
		if got.DeadLetter != want || got.Attempts != 3 {
			t.Errorf("%s: %+v, want a dead letter: %t", reason, got, want)
		}
	}
}

func TestRolloutIsAbsentUntilDecided(t *testing.T) {
	if got := FromReload(&reloader.Reload{}).Rollout; got != nil {
		t.Errorf("a rollout of nothing: %+v", got)
	}
	ended := time.Unix(1000, 0)
	r := &reloader.Rollout{Result: reloader.ReasonStalled, Message: "no", StartedAt: ended.Add(-time.Minute), EndedAt: ended}
	want := Rollout{Result: "Stalled", Message: "no", StartedAt: r.StartedAt, EndedAt: ended}
	if got := FromReload(&reloader.Reload{Rollout: r}).Rollout; got == nil || *got != want {
		t.Errorf("reload: %+v, want %+v", got, want)
	}
	if got := FromWorkload(&reloader.WorkloadRecord{Rollout: r}, nil, time.Time{}).Rollout; got == nil || *got != want {
		t.Errorf("workload: %+v, want %+v", got, want)
	}
}

func TestReasonListNamesEveryReason(t *testing.T) {
	list, schema := ReasonList(), Reason("").Schema(nil)
	for reason, meaning := range reloader.Reasons {
		if !strings.Contains(list, "`"+string(reason)+"`: the workload "+meaning) {
			t.Errorf("%s is not explained", reason)
		}
	}
	if len(schema.Enum) != len(reloader.Reasons) {
		t.Errorf("%d of %d reasons in the schema", len(schema.Enum), len(reloader.Reasons))
	}
}

// TestFollowedConfigIsItsOwners: what a workload of one cluster follows is the same node as what the owner's own workloads use.
func TestFollowedConfigIsItsOwners(t *testing.T) {
	flags := reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "flags"}
	followed := flags
	followed.Cluster = "east"
	workload := func(cluster string, c reloader.Config) *reloader.WorkloadRecord {
		return &reloader.WorkloadRecord{
			Cluster: cluster, Workload: reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "cart"}, Edges: []reloader.Edge{{Config: c}},
		}
	}
	west := workload("west", followed)
	if got := FromWorkload(west, nil, time.Time{}).Dependencies[0].Config.Cluster; got != "east" {
		t.Errorf("the config is one of %q, want east", got)
	}
}
