package control

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

func TestApply(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	hour := now.Add(time.Hour)
	const till = "- by: alice\n  namespace: shop\n  reason: audit\n  selector: app=till\n  until: \"2026-11-21T13:00:00Z\"\n"
	pauseTill := reloader.Command{Verb: reloader.CommandPause, User: "alice", Namespace: "shop", Selector: "app=till", Until: hour, Reason: "audit"}
	cases := map[string]struct {
		data    map[string]string
		command reloader.Command
		want    map[string]string
		refused bool
	}{
		"freeze": {
			command: reloader.Command{Verb: reloader.CommandFreeze, User: "alice", Reason: "sale", At: now},
			want:    map[string]string{FreezeKey: "true", ReasonKey: "sale", ByKey: "alice", SinceKey: now.UTC().Format(time.RFC3339)},
		},
		"freeze replaces all of another": {
			data:    map[string]string{FreezeKey: "true", ReasonKey: "old", UntilKey: "x", ByKey: "bob", "other": "kept"},
			command: reloader.Command{Verb: reloader.CommandFreeze, Until: hour},
			want:    map[string]string{FreezeKey: "true", UntilKey: "2026-11-21T13:00:00Z", "other": "kept"},
		},
		"freeze that has ended": {
			command: reloader.Command{Verb: reloader.CommandFreeze, Until: now}, want: map[string]string{}, refused: true,
		},
		"thaw": {
			data:    map[string]string{FreezeKey: "true", ReasonKey: "old", UntilKey: "x", ByKey: "bob", SinceKey: "x", PausesKey: "[]"},
			command: reloader.Command{Verb: reloader.CommandThaw}, want: map[string]string{PausesKey: "[]"},
		},
		"pause":       {command: pauseTill, want: map[string]string{PausesKey: till}},
		"pause again": {data: map[string]string{PausesKey: till}, command: pauseTill, want: map[string]string{PausesKey: till}},
		"pause drops what has ended": {
			data:    map[string]string{PausesKey: "- {namespace: bank, until: \"2026-11-21T11:00:00Z\"}\n"},
			command: pauseTill, want: map[string]string{PausesKey: till},
		},
		"pause beside a list that nobody understands": {
			data: map[string]string{PausesKey: "{"}, command: pauseTill, want: map[string]string{PausesKey: "{"}, refused: true,
		},
		"pause for too long": {
			command: reloader.Command{Verb: reloader.CommandPause, Until: now.Add(MaxPause + time.Hour)}, want: map[string]string{}, refused: true,
		},
		"pause without workloads that can be understood": {
			command: reloader.Command{Verb: reloader.CommandPause, Until: hour, Selector: "a=b=c"}, want: map[string]string{}, refused: true,
		},
		"resume": {
			data:    map[string]string{PausesKey: till, FreezeKey: "true"},
			command: reloader.Command{Verb: reloader.CommandResume, Namespace: "shop", Selector: " app = till"}, want: map[string]string{FreezeKey: "true"},
		},
		"resume of others": {
			data:    map[string]string{PausesKey: till},
			command: reloader.Command{Verb: reloader.CommandResume, Namespace: "bank", Selector: "app=till"}, want: map[string]string{PausesKey: till},
		},
		"retry of a workload": {
			command: reloader.Command{Verb: reloader.CommandRetry, Workload: reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "web"}},
			want:    map[string]string{"retry.Deployment.shop.web": "2026-11-21T12:00:00Z"},
		},
		"retry of a config": {
			command: reloader.Command{Verb: reloader.CommandRetry, Config: reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: "key"}},
			want:    map[string]string{"retry.Secret.shop.key": "2026-11-21T12:00:00Z"},
		},
		"no command for it": {command: reloader.Command{Verb: reloader.CommandReload}, want: map[string]string{}, refused: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			data := map[string]string{}
			for k, v := range tc.data {
				data[k] = v
			}
			if err := Apply(data, tc.command, now); errors.Is(err, ErrRefused) != tc.refused || (err != nil) != tc.refused {
				t.Errorf("Apply: %v, want it refused: %t", err, tc.refused)
			}
			if diff := cmp.Diff(tc.want, data); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhoFrozeAndPausedIsRead(t *testing.T) {
	c := Parse(map[string]string{FreezeKey: "true", ByKey: "alice", SinceKey: "2026-11-21T11:00:00Z", PausesKey: "- {namespace: shop, until: \"2026-11-21T13:00:00Z\", by: bob}\n"})
	if c.By != "alice" || c.Since.Format(time.RFC3339) != "2026-11-21T11:00:00Z" || len(c.Pauses) != 1 || c.Pauses[0].By != "bob" || len(c.Problems) != 0 {
		t.Errorf("%+v", c)
	}
	if c := Parse(map[string]string{FreezeKey: "true", SinceKey: "yesterday"}); !c.Frozen || !c.Since.IsZero() || len(c.Problems) != 1 {
		t.Errorf("%+v", c)
	}
}
