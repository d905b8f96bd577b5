package verdict

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// TestSuppose: what a change would do to a workload, and which words say why.
func TestSuppose(t *testing.T) {
	type edit func(*reloader.ClusterStatus, *reloader.WorkloadRecord)
	soon, later := now.Add(time.Hour), now.Add(2*time.Hour)
	dormant := func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) { w.Dormant = true }
	counts := func(list string, usedKeys bool) edit {
		return func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) {
			w.Keys, w.Edges[0].UsedKeys = list, usedKeys
			w.Edges[0].Uses = []reloader.Use{{How: "env", Keys: []string{"level", "size"}}}
		}
	}
	and := func(edits ...edit) edit {
		return func(s *reloader.ClusterStatus, w *reloader.WorkloadRecord) {
			for _, e := range edits {
				e(s, w)
			}
		}
	}
	holds := func(reason reloader.Reason, due time.Time) edit {
		return func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) {
			w.Hold = &reloader.Hold{Reason: reason, Message: "in its words", Since: now, Due: due}
		}
	}
	lacks := func(m reloader.Missing) edit {
		return func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) {
			m.Awaited = true
			w.Missing = []reloader.Missing{m}
		}
	}
	pauses := func(pauses ...reloader.Pause) edit {
		return func(s *reloader.ClusterStatus, _ *reloader.WorkloadRecord) { s.Pauses = pauses }
	}
	reloads := func(restarts string) edit {
		return func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) {
			w.Strategy, w.Edges[0].Restarts = "http", restarts
		}
	}
	nothing := func(*reloader.ClusterStatus, *reloader.WorkloadRecord) {}
	frozen := func(s *reloader.ClusterStatus, _ *reloader.WorkloadRecord) {
		s.Freeze = &reloader.Pause{Reason: "an incident", Until: soon}
	}
	notifies := func(s *reloader.ClusterStatus, _ *reloader.WorkloadRecord) { s.Notifies = true }
	cases := map[string]struct {
		edit   edit
		keys   string
		fate   Fate
		reason reloader.Reason
		words  string
	}{
		"nothing holds it back": {nothing, "", RollsNow, "", "It would roll."},
		"dry run":               {func(s *reloader.ClusterStatus, _ *reloader.WorkloadRecord) { s.DryRun = true }, "", RollsNever, "DryRun", "dry run"},
		"suspended":             {dormant, "", RollsNever, "Dormant", "is suspended or has finished"},
		"the config is ignored": {func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) {
			w.Edges[0].Why, w.Edges[0].Clause = reloader.ReasonIgnored, "reloader.stakater.com/ignore"
		}, "", RollsNever, "Ignored", "(reloader.stakater.com/ignore)"},
		"a webhook instead":             {notifies, "", Notified, "Notified", "webhook"},
		"a webhook after the thaw":      {and(frozen, notifies), "", RollsLater, "Frozen", "an incident"},
		"without a restart":             {reloads(""), "", Reloads, "", "It would reach its running pods without a restart (strategy http)."},
		"with a restart":                {reloads("it is used as env"), "", RollsNow, "", "It would restart its pods: it is used as env."},
		"frozen":                        {frozen, "", RollsLater, "Frozen", "until 2026-11-21 13:00:00 UTC"},
		"the last of two pauses counts": {pauses(reloader.Pause{Namespace: "shop", Until: later, Reason: "a sale"}, reloader.Pause{Until: soon}), "", RollsLater, "PausedByOperator", "a sale. It continues at 2026-11-21 14:00:00 UTC."},
		"the next window counts": {func(s *reloader.ClusterStatus, _ *reloader.WorkloadRecord) {
			s.Windows = []reloader.Window{{Next: later}, {Next: soon}}
		}, "", RollsLater, "OutsideWindow", "opens at 2026-11-21 13:00:00 UTC"},
		"a window is open": {func(s *reloader.ClusterStatus, _ *reloader.WorkloadRecord) {
			s.Windows = []reloader.Window{{Next: later}, {Open: true}}
		}, "", RollsNow, "", ""},
		"flapping":             {holds(reloader.ReasonFlapping, soon), "", RollsLater, "Flapping", "in its words"},
		"refused for good":     {holds(reloader.ReasonRefused, later), "", RollsLater, "Refused", "in its words"},
		"lacks another config": {lacks(reloader.Missing{Config: reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "gone"}}), "", RollsLater, "", "ConfigMap shop/gone does not exist"},
		"lacks a key of it":    {lacks(reloader.Missing{Config: secret, Keys: []string{"a"}}), "", RollsNow, "", ""},
		"gets half of that":    {lacks(reloader.Missing{Config: secret, Keys: []string{"a", "b"}}), "b", RollsLater, "", `no key "a"`},
		"another key":          {counts("level", false), "other", RollsNever, "KeysUnused", "These keys count: level."},
		"a tool's unused key":  {counts("", true), "other", RollsNever, "KeysUnused", "used"},
		"any key":              {counts("level", true), "", RollsNow, "", "if a key changes that counts: used,level"},
		"an unreadable list":   {counts("level(", false), "other", RollsNow, "", ""},
		"it waits already":     {and(counts("level", false), func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) { w.Edges[0].Pending = "c-2" }), "other", RollsNow, "", ""},
		"it is created":        {and(counts("level", false), func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) { w.Edges[0].Applied.Sum = "" }), "other", RollsNow, "", ""},
	}
	for name, tc := range cases {
		s := &reloader.ClusterStatus{At: now, Ready: true}
		r := record(func(r *reloader.WorkloadRecord) { tc.edit(s, r) })
		keys := slices.DeleteFunc(strings.Split(tc.keys, ","), func(k string) bool { return k == "" })
		fate, v := Case{Cluster: "local", Workload: web, Record: r, Status: s, Now: now}.Suppose(r.Edges[0], keys)
		if fate != tc.fate || v.Reason != tc.reason || !strings.Contains(v.Message, tc.words) {
			t.Errorf("%s: %s %s: %s\nwant %s %s: %s", name, fate, v.Reason, v.Message, tc.fate, tc.reason, tc.words)
		}
	}
}
