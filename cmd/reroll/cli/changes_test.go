package cli

import (
	"testing"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// TestWhoOf: one name is asserted only where nobody else can have been it.
func TestWhoOf(t *testing.T) {
	for name, c := range map[string]struct {
		candidates []reloader.Candidate
		want       string
	}{
		"nobody":            {nil, "-"},
		"one":               {[]reloader.Candidate{{Actor: reloader.Actor{User: "alice"}, Basis: "OnlyWriter"}}, "alice"},
		"impersonated":      {[]reloader.Candidate{{Actor: reloader.Actor{User: "alice", AuthenticatedUser: "admin"}, Basis: "OnlyWriter"}}, "alice (impersonated by admin)"},
		"seen by a watch":   {[]reloader.Candidate{{Actor: reloader.Actor{FieldManager: "kubectl-edit"}, Basis: "OnlyWriter"}}, "field manager kubectl-edit"},
		"one who need not":  {[]reloader.Candidate{{Actor: reloader.Actor{User: "alice"}, Basis: "Ambiguous"}}, "perhaps alice"},
		"one of two writes": {[]reloader.Candidate{{Actor: reloader.Actor{User: "alice"}, Basis: "Ambiguous"}, {Actor: reloader.Actor{User: "bob"}, Basis: "FieldManager"}}, "one of alice, bob"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := whoOf(c.candidates); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestCausesNameEachConfigOnce: a config that changed several times is named once, with all its keys; another of that name elsewhere is not it.
func TestCausesNameEachConfigOnce(t *testing.T) {
	cause := func(config reloader.Config, keys ...string) reloader.Cause {
		c := reloader.Cause{Config: config}
		for _, key := range keys {
			c.Keys = append(c.Keys, reloader.KeyChange{Key: key, Op: "Changed"})
		}
		return c
	}
	settings := reloader.Config{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	rates, followed := reloader.Config{Kind: "ConfigMap", Namespace: "bank", Name: "settings"}, settings
	followed.Cluster = "east"
	r := view.Reload{Reload: reloader.Reload{Workload: reloader.WorkloadRef{Namespace: "shop"}, Causes: []reloader.Cause{
		cause(settings, "level"), cause(rates), cause(settings, "level", "colour"), cause(followed, "tax"),
	}}}
	const want = "ConfigMap/settings [level,colour],bank/ConfigMap/settings,east/shop/ConfigMap/settings [tax]"
	if got := causesOf(r); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestRolled: each workload that a change reached counts once, by what became of it last.
func TestRolled(t *testing.T) {
	reload := func(name, outcome, rollout string) view.Reload {
		r := view.Reload{Reload: reloader.Reload{Workload: reloader.WorkloadRef{Name: name}, Outcome: reloader.Reason(outcome)}}
		if rollout != "" {
			r.Rollout = &reloader.Rollout{Result: reloader.Reason(rollout)}
		}
		return r
	}
	waits := func(name string, hold *reloader.Hold) view.PendingReload {
		return view.PendingReload{Workload: reloader.WorkloadRef{Name: name}, Hold: hold}
	}
	for name, c := range map[string]struct {
		row  view.ChangeRow
		want string
	}{
		"nobody": {view.ChangeRow{}, "-"},
		"all there is": {view.ChangeRow{
			Reloads: []view.Reload{
				reload("a", "Reloaded", "RolledOut"), reload("b", "Reloaded", ""), reload("c", "Reloaded", "Stalled"), reload("d", "KeysUnused", ""),
				reload("e", "Refused", ""), reload("f", "Refused", ""), reload("f", "Reloaded", ""), reload("g", "Refused", ""),
			},
			Pending: []view.PendingReload{waits("g", &reloader.Hold{}), waits("h", nil)},
		}, "3 rolled, 1 stalled, 1 failed, 1 held, 1 waiting, 1 not needed"},
	} {
		if got := rolledCell(c.row).text; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
