package api

import (
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// TestImpactOfWhatComesToNothing: who would not be rolled whenever the change comes is not said to roll, nor to wait.
func TestImpactOfWhatComesToNothing(t *testing.T) {
	type edit func(*reloader.ClusterStatus, *reloader.WorkloadRecord)
	dormant := func(reason reloader.Reason) edit {
		return func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) { w.Terms.Dormant = reason }
	}
	counts := func(list string, usedKeys bool) edit {
		return func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) {
			w.Terms.Keys, w.Edges[0].UsedKeys = list, usedKeys
			w.Edges[0].Uses, w.Edges[0].Pending = []reloader.Use{{How: "env", Keys: []string{"level", "size"}}}, ""
		}
	}
	and := func(edits ...edit) edit {
		return func(s *reloader.ClusterStatus, w *reloader.WorkloadRecord) {
			for _, e := range edits {
				e(s, w)
			}
		}
	}
	frozen := func(s *reloader.ClusterStatus, _ *reloader.WorkloadRecord) { s.Freeze.Frozen = true }
	notifies := func(s *reloader.ClusterStatus, _ *reloader.WorkloadRecord) { s.Notifies = true }
	cases := map[string]struct {
		reason  string
		edit    edit
		keys    string
		want    view.Reason
		message string
	}{
		"suspended":           {"nothing of it is started", dormant(reloader.ReasonSuspended), "", "Suspended", ""},
		"finished":            {"it is done for good", dormant(reloader.ReasonFinished), "", "Finished", ""},
		"suspended, frozen":   {"the thaw changes nothing about it", and(frozen, dormant(reloader.ReasonSuspended)), "", "Suspended", ""},
		"suspended, notifies": {"nobody is called about it", and(notifies, dormant(reloader.ReasonSuspended)), "", "Suspended", ""},
		"ignored": {"the config says so itself", func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) {
			w.Edges[0].Why, w.Edges[0].Clause = reloader.ReasonConfigIgnored, "reroll.dev/ignore"
		}, "", "ConfigIgnored", ""},
		"notifies":             {"a webhook is called instead", notifies, "", "Notified", ""},
		"notifies, frozen":     {"it is called after the thaw", and(frozen, notifies), "", "Frozen", ""},
		"another key":          {"one key counts", counts("level", false), "other", "KeysUnused", "level"},
		"that key":             {"it counts", counts("level", false), "level", "Reloaded", ""},
		"both keys":            {"one of them counts", counts("level", false), "other,level", "Reloaded", ""},
		"left out":             {"all but one count", counts("!debug*", false), "debug.yaml", "KeysUnused", "!debug*"},
		"not left out":         {"all but one count", counts("!debug*", false), "other", "Reloaded", ""},
		"unused":               {"the keys in use count", counts("used", false), "other", "KeysUnused", "used"},
		"used":                 {"the keys in use count", counts("used", false), "size", "Reloaded", ""},
		"a tool's unused":      {"the tool hashes no others", counts("", true), "other", "KeysUnused", "used"},
		"a tool's used":        {"the tool hashes it", counts("", true), "size", "Reloaded", ""},
		"both":                 {"the tool hashes it, and it is left out", counts("!size", true), "size", "KeysUnused", "!size"},
		"any key":              {"it may be one that counts", counts("level", true), "", "Reloaded", "level"},
		"another key, frozen":  {"the thaw changes nothing about it", and(frozen, counts("level", false)), "other", "KeysUnused", "level"},
		"a list of the future": {"what cannot be read leaves out nothing", counts("level(", false), "other", "Reloaded", ""},
		"pending all the same": {"what it waits for may have changed other keys", and(counts("level", false), func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) {
			w.Edges[0].Pending = "c-2"
		}), "other", "Reloaded", ""},
		"not there yet": {"of what is created, every key is new", and(counts("level", false), func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) {
			w.Edges[0].Handled = reloader.Handled{How: reloader.ReasonBaseline, At: start}
		}), "other", "Reloaded", ""},
		"failing": {"it has failed for long", func(_ *reloader.ClusterStatus, w *reloader.WorkloadRecord) {
			w.Hold = &reloader.Hold{Reason: reloader.ReasonFailing, Message: "in its words", Since: start}
		}, "", "Failing", "in its words"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.populate()
			s, w := aStatus(), aWorkload("shop", "cart")
			tc.edit(&s, &w)
			f.records.PutCluster(s)
			f.records.PutWorkload(w)
			got := impactOf(t, f, passwordPath, strings.FieldsFunc(tc.keys, func(r rune) bool { return r == ',' })...).Workloads[0]
			if got.Outcome != tc.want || !strings.Contains(got.Message, tc.message) || tc.message == "" && got.Message != "" {
				t.Errorf("%s: %s %q, want %s %q", tc.reason, got.Outcome, got.Message, tc.want, tc.message)
			}
		})
	}
}
