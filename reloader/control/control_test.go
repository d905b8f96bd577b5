package control_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func parse(document string) control.Control {
	return control.Parse(map[string]string{control.Key: document})
}

func TestFreeze(t *testing.T) {
	cases := map[string]struct {
		reason   string
		document string
		frozen   bool
		until    time.Time
		problem  string
	}{
		"nothing":          {reason: "an empty document holds back nothing"},
		"freeze":           {reason: "held until somebody thaws", document: "freeze: {}", frozen: true},
		"until later":      {reason: "ends by itself", document: "freeze: {until: 2026-11-21T13:00:00Z}", frozen: true, until: now.Add(time.Hour)},
		"until now":        {reason: "has ended, and can be told", document: "freeze: {until: 2026-11-21T12:00:00Z}", until: now},
		"no value":         {reason: "it may be half written", document: "freeze:", frozen: true, problem: "freeze has no value"},
		"a word":           {reason: "not a freeze", document: "freeze: true", frozen: true, problem: "line 1: cannot unmarshal"},
		"not YAML":         {reason: "it may say freeze", document: "a: {", frozen: true, problem: "yaml: line 1"},
		"unknown key":      {reason: "a misspelt freeze", document: "frezze: {}", frozen: true, problem: `line 1: field frezze not found`},
		"a key twice":      {reason: "which one holds?", document: "freeze: {}\nfreeze: {until: 2026-11-21T12:00:00Z}", frozen: true, problem: `line 2: mapping key "freeze" already defined`},
		"until is too far": {reason: "it cannot be stored", document: "freeze: {until: 9999-12-31T23:59:59Z}", frozen: true, problem: "too far"},
		"until is unclear": {reason: "no time", document: "freeze: {until: tonight}", frozen: true, problem: `"tonight"`},
		"two documents":    {reason: "the second may freeze", document: "windows: []\n---\nfreeze: {}", frozen: true, problem: "one document"},
		"a list":           {reason: "of what?", document: "freeze: [a]", frozen: true, problem: "line 1: cannot unmarshal"},
		"comments alone":   {reason: "nothing is asked for", document: "# freeze: {}\n"},
		"a part":           {reason: "a freeze holds back everything", document: "freeze: {namespace: shop}", frozen: true, problem: "pauses"},
		"bad pause":        {reason: "who is meant?", document: "pauses: [{namespace: Shop!, until: 2026-11-21T13:00:00Z}]", frozen: true, problem: "pauses[0]"},
		"endless pause":    {reason: "a pause ends", document: "pauses: [{namespace: shop}]", frozen: true, problem: "until"},
		"bad window":       {reason: "when is it open?", document: "windows: [always]", frozen: true, problem: "windows[0]"},
		"too many pauses":  {reason: "a bound", document: "pauses:\n" + strings.Repeat("- {until: 2026-11-21T13:00:00Z}\n", 257), frozen: true, problem: "256"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := parse(c.document)
			freeze, frozen := got.Freeze(now)
			if frozen != c.frozen || !freeze.Until.Equal(c.until) || !strings.Contains(got.Problem, c.problem) || (got.Problem == "") != (c.problem == "") {
				t.Errorf("%s: frozen %v until %v, problem %q", c.reason, frozen, freeze.Until, got.Problem)
			}
		})
	}
}

func TestRedactedNamesNobody(t *testing.T) {
	c := parse("{freeze: {by: alice, reason: sale}, pauses: [{namespace: shop, by: bob, until: 2026-11-21T13:00:00Z, reason: audit}]}")
	redacted := c.Redacted()
	if f, frozen := redacted.Freeze(now); !frozen || f.By != "" || f.Reason != "sale" {
		t.Errorf("freeze %+v", f)
	}
	if p := redacted.Pauses; len(p) != 1 || p[0].By != "" || p[0].Reason != "audit" {
		t.Errorf("pauses %+v", p)
	}
	if f, _ := c.Freeze(now); f.By != "alice" || c.Pauses[0].By != "bob" {
		t.Errorf("the original changed: %+v", c)
	}
}

func TestPauses(t *testing.T) {
	c := parse(`pauses:
- {namespace: shop, selector: "app=web", until: "2026-11-21T13:00:00Z", reason: sale}
- {namespace: shop, until: "2026-11-21T12:30:00Z"}
- {selector: "tier in (db)", until: "2030-01-01T00:00:00Z"}
- {selector: "app=old", until: "2026-11-21T11:00:00Z"}
`)
	if c.Problem != "" {
		t.Errorf("problem %q", c.Problem)
	}
	for name, want := range map[string]struct {
		namespace string
		labels    map[string]string
		until     time.Time
	}{
		"the longest holds": {"shop", map[string]string{"app": "web"}, now.Add(time.Hour)},
		"elsewhere":         {"other", map[string]string{"app": "web"}, time.Time{}},
		"every namespace":   {"other", map[string]string{"tier": "db"}, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)},
		"over":              {"other", map[string]string{"app": "old"}, time.Time{}},
	} {
		p, paused := c.Paused(want.namespace, want.labels, now)
		if paused == want.until.IsZero() || !p.Until.Equal(want.until) {
			t.Errorf("%s: paused %v until %v, want %v", name, paused, p.Until, want.until)
		}
	}
}

func TestEdit(t *testing.T) {
	hour := now.Add(time.Hour)
	till := reloader.Pause{Namespace: "shop", Selector: "app=till", Until: hour, Reason: "audit", By: "alice"}
	const tillText = "pauses:\n- by: alice\n  namespace: shop\n  reason: audit\n  selector: app=till\n  until: \"2026-11-21T13:00:00Z\"\n"
	pause := func(p reloader.Pause) func(*control.Document) error {
		return func(d *control.Document) error { return d.Pause(p, now) }
	}
	resume := func(namespace, selector string) func(*control.Document) error {
		return func(d *control.Document) error {
			found, err := d.Resume(namespace, selector)
			if err == nil && !found {
				err = errors.New("no such pause")
			}
			return err
		}
	}
	for name, c := range map[string]struct {
		before string
		change func(*control.Document) error
		want   string
		fails  string
	}{
		"pause":                     {"", pause(till), tillText, ""},
		"the same pause again":      {tillText, pause(till), tillText, ""},
		"pauses that ended go":      {"pauses: [{namespace: bank, until: 2026-11-21T11:00:00Z}]", pause(till), tillText, ""},
		"resume":                    {tillText, resume("shop", " app = till"), "{}\n", ""},
		"resume of another":         {tillText, resume("bank", "app=till"), tillText, "no such pause"},
		"a bad selector":            {tillText, pause(reloader.Pause{Selector: "a=b=c", Until: hour}), tillText, "selector"},
		"a bad namespace":           {"", pause(reloader.Pause{Namespace: "Shop!", Until: hour}), "", "Shop!"},
		"beside what is not read":   {"{", pause(till), "{", "so everything is frozen"},
		"beside an unknown keyword": {"frezze: {}", pause(till), "frezze: {}", "frezze"},
	} {
		t.Run(name, func(t *testing.T) {
			data := map[string]string{control.Key: c.before}
			err := control.Edit(data, c.change)
			if (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("error %v, want %q", err, c.fails)
			}
			if data[control.Key] != c.want {
				t.Errorf("document %q, want %q", data[control.Key], c.want)
			}
		})
	}
}

func TestWindows(t *testing.T) {
	berlin := "CRON_TZ=Europe/Berlin "
	cases := map[string]struct {
		reason  string
		windows []string
		want    time.Time
	}{
		"none":          {reason: "always open", want: now},
		"open":          {reason: "it opened at noon", windows: []string{"0 12 * * * 1h"}, want: now},
		"just closed":   {reason: "its end is not in it", windows: []string{"0 11 * * * 1h"}, want: now.Add(23 * time.Hour)},
		"over midnight": {reason: "opened yesterday", windows: []string{"0 22 * * * 15h"}, want: now},
		"another zone":  {reason: "one o'clock in Berlin is noon here", windows: []string{berlin + "0 13 * * * 1h"}, want: now},
		"the soonest":   {reason: "of several", windows: []string{"0 22 * * * 1h", "0 18 * * * 1h"}, want: now.Add(6 * time.Hour)},
		"never":         {reason: "no such day", windows: []string{"0 0 31 2 * 1h"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var windows []control.Window
			for _, text := range c.windows {
				if !strings.HasPrefix(text, "CRON_TZ") {
					text = "CRON_TZ=UTC " + text
				}
				w, err := control.ParseWindow(text)
				if err != nil {
					t.Fatal(err)
				}
				windows = append(windows, w)
			}
			if got := control.Opening(windows, now); !got.Equal(c.want) {
				t.Errorf("%s: opens %v, want %v", c.reason, got, c.want)
			}
		})
	}
}

func TestFaultyWindows(t *testing.T) {
	for _, text := range []string{"", "6h", "0 22 * * *", "0 22 * * * 1s", "0 22 * * * 200h", "0 25 * * * 1h", "CRON_TZ=Nowhere/City 0 22 * * * 1h", strings.Repeat("x", 300)} {
		if w, err := control.ParseWindow(text); err == nil {
			t.Errorf("%q is taken for %v", text, w)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("freeze: {until: 2026-11-21T13:00:00Z}")
	f.Add("pauses: [{selector: a=b, until: 2026-11-21T13:00:00Z}]")
	f.Add("- - -")
	f.Fuzz(func(t *testing.T, document string) {
		c := parse(document)
		if _, frozen := c.Freeze(now); c.Problem != "" && !frozen {
			t.Fatal("what cannot be read lets go")
		}
		if len(c.Problem) > 1024 {
			t.Errorf("a problem of %d bytes", len(c.Problem))
		}
		data := map[string]string{control.Key: document}
		if err := control.Edit(data, func(*control.Document) error { return nil }); (err == nil) != (c.Problem == "") {
			t.Fatalf("it is read with %q and edited with %v", c.Problem, err)
		} else if again := control.Parse(data); again.Problem != c.Problem {
			t.Fatalf("written again it has the problem %q", again.Problem)
		}
	})
}
