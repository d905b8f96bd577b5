package actor_test

import (
	"testing"

	"github.com/reroll-dev/reroll/dispatcher/actor"
	"github.com/reroll-dev/reroll/reloader"
)

func TestHeard(t *testing.T) {
	timeout := hint(carol, 2)
	timeout.Code = 504
	heard := actor.Heard{}.With([]reloader.Hint{hint(alice, 0), seen("helm", 1), timeout})
	again := hint(alice, 0)
	again.Source, again.Received = reloader.SourceShipped, after(60)
	later, another := hint(alice, 0), hint(alice, 0)
	later.Time, another.Verb = after(1), reloader.VerbDelete
	for name, c := range map[string]struct {
		hint  reloader.Hint
		fresh bool
	}{
		"from another source":     {again, false},
		"another time":            {later, true},
		"another verb":            {another, true},
		"another user":            {hint(bob, 0), true},
		"a watch":                 {seen("helm", 1), true},
		"with an unknown outcome": {timeout, true},
	} {
		if got := heard.Fresh([]reloader.Hint{c.hint}); (len(got) == 1) != c.fresh {
			t.Errorf("%s: fresh %v, want %v", name, !c.fresh, c.fresh)
		}
	}
	full := heard
	for i := range 16 {
		full = full.With([]reloader.Hint{hint(bob, float64(100+i))})
	}
	if len(full) != 16 || len(full.Fresh([]reloader.Hint{hint(alice, 0)})) != 1 || len(full.Fresh([]reloader.Hint{hint(bob, 100)})) != 0 {
		t.Errorf("%d requests are remembered, want the last 16", len(full))
	}
	if len(heard) != 1 {
		t.Error("the value that was passed has changed")
	}
}

// TestLateEcho: what another source reports again of alice's write is not held against the change that bob made since, whatever comes first.
func TestLateEcho(t *testing.T) {
	echo, bobs := hint(alice, 0), hint(bob, 3)
	echo.Source = reloader.SourceShipped
	next := actor.Found{ChangeID: "c-2", At: after(4), Manager: "helm", Written: after(3)}
	for name, order := range map[string][][]reloader.Hint{
		"together": {{echo, bobs}}, "before": {{echo}, {bobs}}, "after": {{bobs}, {echo}},
	} {
		heard := actor.Heard{}.With([]reloader.Hint{hint(alice, 0)})
		known, first := actor.Attribution{}, true
		for _, hints := range order {
			if fresh := heard.Fresh(hints); first {
				known, first = actor.Attribute(next, fresh, nil), false
			} else {
				known, _ = actor.Late(known, next, fresh, nil)
			}
			heard = heard.With(hints)
		}
		t.Run(name, func(t *testing.T) {
			expect(t, known, "bob")
			if !known.RequestedAt.Equal(bobs.Time) {
				t.Errorf("dated %s", known.RequestedAt)
			}
		})
	}
}
