package actor_test

import (
	"slices"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/actor"
	"github.com/reroll-dev/reroll/reloader"
)

// TestLate: a sweep found the change at twelve and a minute, and its hints come later.
func TestLate(t *testing.T) {
	swept := actor.Found{ChangeID: "c-2", At: after(60), Manager: "helm", Written: after(30), Created: after(-86400)}
	first := actor.Past{At: noon, Attribution: actor.Attribute(found(), []reloader.Hint{hint(alice, 0)}, nil)}
	for name, c := range map[string]struct {
		reason string
		known  []reloader.Hint
		hints  []reloader.Hint
		before []actor.Past
		change func(*actor.Found)
		want   string
		news   bool
	}{
		"its hint":                      {"the hint waited while nothing ran", nil, []reloader.Hint{hint(bob, 30)}, []actor.Past{first}, nil, "bob", true},
		"one more":                      {"two edited, and the hint of the first comes later", []reloader.Hint{hint(bob, 30)}, []reloader.Hint{hint(alice, 29)}, []actor.Past{first}, nil, "bob, alice?", true},
		"the same once more":            {"nothing is new", []reloader.Hint{hint(bob, 30)}, []reloader.Hint{hint(bob, 30)}, []actor.Past{first}, nil, "bob", false},
		"a request after it":            {"the change was there", nil, []reloader.Hint{hint(bob, 61)}, []actor.Past{first}, nil, "", false},
		"a request before it":           {"it led to the content before", nil, []reloader.Hint{hint(bob, -1)}, []actor.Past{first}, nil, "", false},
		"the last write's hint is lost": {"the data was written after the only request", nil, []reloader.Hint{hint(alice, 10)}, []actor.Past{first}, nil, "alice?", true},
		"nothing before it is known":    {"a request counts if it ended shortly before the change was found", nil, []reloader.Hint{hint(alice, 40), hint(bob, 55)}, nil, func(f *actor.Found) { f.Written = time.Time{} }, "bob", true},
		"written again since":           {"the time of the data is that of a later change", nil, []reloader.Hint{hint(bob, 30)}, []actor.Past{first}, func(f *actor.Found) { f.Written = after(3600) }, "bob", true},
	} {
		t.Run(name, func(t *testing.T) {
			f := swept
			if c.change != nil {
				c.change(&f)
			}
			known := actor.Attribute(f, c.known, nil)
			before := slices.Clone(known.Authors)
			later, news := actor.Late(known, f, c.hints, c.before)
			expect(t, later, c.want)
			if news != c.news {
				t.Errorf("news %v, want %v", news, c.news)
			}
			if news && (later.ChangeID != "c-2" || later.Source != reloader.SourceAudit || later.RequestedAt.IsZero() || later.ReceivedAt.IsZero()) {
				t.Errorf("attribution %+v", later)
			}
			if again, more := actor.Late(later, f, c.hints, c.before); more || !slices.Equal(again.Authors, later.Authors) {
				t.Errorf("the same hints once more: %+v", again)
			}
			if !slices.Equal(before, known.Authors) {
				t.Error("the attribution that was passed has changed")
			}
			if t.Failed() {
				t.Log(c.reason)
			}
		})
	}
}

func TestDrift(t *testing.T) {
	swept := actor.Found{ChangeID: "c-1", At: after(600), Written: after(540)}
	unwritten := actor.Found{ChangeID: "c-1", At: after(600)}
	received := func(h reloader.Hint, seconds float64) reloader.Hint {
		h.Received = after(seconds)
		return h
	}
	for name, c := range map[string]struct {
		found  actor.Found
		hints  []reloader.Hint
		missed bool
	}{
		"no hint":                         {swept, nil, true},
		"its hint, late":                  {swept, []reloader.Hint{hint(alice, 540)}, false},
		"its hint, and a later one":       {swept, []reloader.Hint{hint(alice, 540), hint(bob, 700)}, false},
		"its hint, and an earlier one":    {swept, []reloader.Hint{hint(alice, 540), hint(bob, 500)}, false},
		"a later one alone":               {swept, []reloader.Hint{hint(bob, 700)}, true},
		"an earlier one alone":            {swept, []reloader.Hint{hint(bob, 500)}, true},
		"written by a clock ahead":        {actor.Found{At: after(600), Written: after(660)}, []reloader.Hint{hint(alice, 660)}, false},
		"not known when, a late hint":     {unwritten, []reloader.Hint{received(hint(alice, 100), 700)}, false},
		"not known when, one long before": {unwritten, []reloader.Hint{received(hint(alice, 100), 200)}, true},
		"not known when, a later one":     {unwritten, []reloader.Hint{hint(alice, 700)}, true},
	} {
		d, suspected := actor.Suspect(app, c.found, actor.Attribution{})
		if !suspected || !d.Due().Equal(after(900)) || d.Config != app || d.ChangeID != c.found.ChangeID {
			t.Fatalf("%s: %+v", name, d)
		}
		for _, h := range c.hints {
			d = d.Hear(h)
		}
		if cause, missed := d.Missed(); missed != c.missed || cause != "the feed has missed it" {
			t.Errorf("%s: missed %v, want %v (%s)", name, missed, c.missed, cause)
		}
	}
	if _, suspected := actor.Suspect(app, swept, actor.Attribute(swept, []reloader.Hint{hint(alice, 540)}, nil)); suspected {
		t.Error("a change that a hint led to is suspected")
	}
	rotation := actor.Drift{Config: reloader.Config{Kind: reloader.SecretProviderClass}}
	if cause, _ := rotation.Missed(); cause == "the feed has missed it" {
		t.Error("a rotation that no source reports has the cause of other kinds")
	}
}
