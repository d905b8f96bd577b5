package control_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader/control"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestFreeze(t *testing.T) {
	cases := map[string]struct {
		reason   string
		data     map[string]string
		frozen   bool
		until    time.Time
		problems int
	}{
		"nothing":          {reason: "no word, no freeze"},
		"true":             {reason: "held until somebody thaws", data: map[string]string{"freeze": "true"}, frozen: true},
		"false":            {reason: "thawed", data: map[string]string{"freeze": "false", "freeze-until": "2026-12-01T00:00:00Z"}},
		"unclear":          {reason: "whoever writes it wants to stop something", data: map[string]string{"freeze": "now!"}, frozen: true, problems: 1},
		"until later":      {reason: "ends by itself", data: map[string]string{"freeze": "true", "freeze-until": "2026-11-21T13:00:00Z"}, frozen: true, until: now.Add(time.Hour)},
		"until now":        {reason: "has ended", data: map[string]string{"freeze": "true", "freeze-until": "2026-11-21T12:00:00Z"}},
		"until is too far": {reason: "does not end by itself", data: map[string]string{"freeze": "true", "freeze-until": "9999-12-31T23:59:59-23:59"}, frozen: true, problems: 1},
		"until is unclear": {reason: "does not end by itself", data: map[string]string{"freeze": "true", "freeze-until": "tonight"}, frozen: true, problems: 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := control.Parse(c.data)
			frozen, until := got.Freeze(now)
			if frozen != c.frozen || !until.Equal(c.until) || len(got.Problems) != c.problems {
				t.Errorf("%s: frozen %v until %v, problems %q", c.reason, frozen, until, got.Problems)
			}
		})
	}
}

func TestPauses(t *testing.T) {
	c := control.Parse(map[string]string{"pauses": `
- {namespace: shop, selector: "app=web", until: "2026-11-21T13:00:00Z", reason: sale}
- {namespace: shop, until: "2026-11-21T12:30:00Z"}
- {selector: "tier in (db)", until: "2030-01-01T00:00:00Z"}
- {selector: "app=old", until: "2026-11-21T11:00:00Z"}
- {namespace: doubt, selector: "(((", until: "2026-11-21T13:00:00Z"}
- {selector: "app=x", until: soon}
`}).Bounded(now)
	if len(c.Problems) != 2 {
		t.Errorf("problems %q, want two", c.Problems)
	}
	for name, want := range map[string]struct {
		namespace string
		labels    map[string]string
		until     time.Time
	}{
		"the longest holds":   {"shop", map[string]string{"app": "web"}, now.Add(time.Hour)},
		"the whole namespace": {"shop", nil, now.Add(30 * time.Minute)},
		"elsewhere":           {"other", map[string]string{"app": "web"}, time.Time{}},
		"every namespace":     {"other", map[string]string{"tier": "db"}, now.Add(control.MaxPause)},
		"over":                {"other", map[string]string{"app": "old"}, time.Time{}},
		"selector in doubt":   {"doubt", nil, now.Add(time.Hour)},
		"end in doubt":        {"other", map[string]string{"app": "x"}, now.Add(control.MaxPause)},
		"not in doubt":        {"other", map[string]string{"app": "y"}, time.Time{}},
	} {
		p, paused := c.Paused(&metav1.ObjectMeta{Namespace: want.namespace, Labels: want.labels}, now)
		if paused == want.until.IsZero() || !p.Until.Equal(want.until) {
			t.Errorf("%s: paused %v until %v, want %v", name, paused, p.Until, want.until)
		}
	}
}

// TestPauseEnds: it is the writing that counts, and not when somebody asks, so that no pause goes on and on.
func TestPauseEnds(t *testing.T) {
	c := control.Parse(map[string]string{"pauses": `[{until: "2100-01-01T00:00:00Z"}]`}).Bounded(now)
	for name, want := range map[string]struct {
		at     time.Time
		paused bool
	}{
		"before thirty days": {now.Add(control.MaxPause - time.Second), true},
		"after thirty days":  {now.Add(control.MaxPause), false},
	} {
		if p, paused := c.Paused(&metav1.ObjectMeta{}, want.at); paused != want.paused {
			t.Errorf("%s: paused %v until %s", name, paused, p.Until)
		}
	}
}

// TestPausesInDoubtHold: what an operator wrote in an incident and nobody can read holds back, and says so.
func TestPausesInDoubtHold(t *testing.T) {
	many := strings.Repeat("- {namespace: a, until: \"2026-11-21T13:00:00Z\"}\n", 257)
	const until = `until: "2026-11-21T13:00:00Z"`
	soon, latest := now.Add(time.Hour), now.Add(control.MaxPause)
	for name, test := range map[string]struct {
		text  string
		until time.Time
	}{
		"a word":              {"true", latest},
		"one pause, no list":  {"{namespace: shop, " + until + "}", latest},
		"not YAML":            {"\x00", latest},
		"a torn line":         {"- {namespace: shop, " + until, latest},
		"a key given twice":   {"- {namespace: shop, namespace: billing, " + until + "}", latest},
		"a misspelt key":      {"- {namespace: shop, selektor: app=no, " + until + "}", soon},
		"a number":            {"- 7", latest},
		"several namespaces":  {"- {namespace: [shop, billing], " + until + "}", latest},
		"no namespace's name": {"- {namespace: \"shop,billing\", " + until + "}", soon},
		"an unclear selector": {"- {selector: \"app in web\", " + until + "}", soon},
		"an unclear end":      {"- {until: tonight}", latest},
		"no end":              {"- {reason: incident}", latest},
		"too many":            {many, latest},
	} {
		c := control.Parse(map[string]string{"pauses": test.text}).Bounded(now)
		if len(c.Problems) != 1 {
			t.Errorf("%s: problems %q, want one", name, c.Problems)
		}
		p, paused := c.Paused(&metav1.ObjectMeta{Namespace: "shop", Labels: map[string]string{"app": "web"}}, now)
		if !paused || !p.Until.Equal(test.until) {
			t.Errorf("%s: paused %v until %s, want %s", name, paused, p.Until, test.until)
		}
	}
	c := control.Parse(map[string]string{"pauses": "- 7\n- {namespace: shop, until: \"2026-11-21T13:00:00Z\", reason: sale}\n"})
	if len(c.Pauses) != 2 || c.Pauses[1].Reason != "sale" {
		t.Errorf("one pause in doubt costs another: %+v", c.Pauses)
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
		"later":         {reason: "tonight", windows: []string{"0 22 * * * 6h"}, want: now.Add(10 * time.Hour)},
		"over midnight": {reason: "opened yesterday", windows: []string{"0 22 * * * 15h"}, want: now},
		"on Monday":     {reason: "the day is a Saturday", windows: []string{"0 12 * * 1 1h"}, want: now.Add(48 * time.Hour)},
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

// TestWindowsKeepTheirHourInSummer: a window is tied to the clock on the wall.
func TestWindowsKeepTheirHourInSummer(t *testing.T) {
	w, err := control.ParseWindow("CRON_TZ=Europe/Berlin 0 22 * * * 1h")
	if err != nil {
		t.Fatal(err)
	}
	for _, open := range []time.Time{time.Date(2026, 1, 10, 21, 30, 0, 0, time.UTC), time.Date(2026, 7, 10, 20, 30, 0, 0, time.UTC)} {
		if !w.Open(open) {
			t.Errorf("closed at %s", open)
		}
		if w.Open(open.Add(time.Hour)) {
			t.Errorf("open at %s", open.Add(time.Hour))
		}
	}
}

// TestWindowsWhenClocksChange: a time that the clock on the wall skips is when it jumps, one that it shows twice counts once, and an hour
// that comes twice has its windows twice if every hour has them.
func TestWindowsWhenClocksChange(t *testing.T) {
	const berlin, newYork, beirut = "CRON_TZ=Europe/Berlin ", "CRON_TZ=America/New_York ", "CRON_TZ=Asia/Beirut "
	utc := func(month time.Month, day, hour, minute int) time.Time {
		return time.Date(2026, month, day, hour, minute, 0, 0, time.UTC)
	}
	for name, c := range map[string]struct {
		window string
		// begin is from when on its openings are looked for.
		begin time.Time
		want  []time.Time
	}{
		"half past two is skipped":            {berlin + "30 2 * * 0 2h", utc(3, 28, 12, 0), []time.Time{utc(3, 29, 1, 0), utc(4, 5, 0, 30)}},
		"two is skipped, west of Greenwich":   {newYork + "0 2 * * 0 4h", utc(3, 7, 12, 0), []time.Time{utc(3, 8, 7, 0), utc(3, 15, 6, 0)}},
		"midnight is skipped":                 {beirut + "0 0 * * * 1h", utc(3, 28, 12, 0), []time.Time{utc(3, 28, 22, 0), utc(3, 29, 21, 0)}},
		"asked for after the jump":            {berlin + "30 2 * * 0 2h", utc(3, 29, 1, 10), []time.Time{utc(4, 5, 0, 30)}},
		"half past two comes twice":           {berlin + "30 2 * * * 1h", utc(10, 24, 12, 0), []time.Time{utc(10, 25, 0, 30), utc(10, 26, 1, 30)}},
		"asked for between the two":           {berlin + "30 2 * * * 1h", utc(10, 25, 1, 10), []time.Time{utc(10, 26, 1, 30)}},
		"one comes twice, west of Greenwich":  {newYork + "0 1 * * * 1h", utc(10, 31, 12, 0), []time.Time{utc(11, 1, 5, 0), utc(11, 2, 6, 0)}},
		"every hour, also that comes twice":   {berlin + "15 * * * * 30m", utc(10, 25, 0, 0), []time.Time{utc(10, 25, 0, 15), utc(10, 25, 1, 15), utc(10, 25, 2, 15)}},
		"every hour, but not that is skipped": {berlin + "15 * * * * 30m", utc(3, 29, 0, 30), []time.Time{utc(3, 29, 1, 15), utc(3, 29, 2, 15)}},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := control.ParseWindow(c.window)
			if err != nil {
				t.Fatal(err)
			}
			at := c.begin
			for _, want := range c.want {
				if at = w.Next(at); !at.Equal(want) {
					t.Errorf("opens at %s, want %s", at, want)
				}
				if !w.Open(want) || w.Open(want.Add(-time.Second)) {
					t.Errorf("at %s it is open: %v, and a second before: %v", want, w.Open(want), w.Open(want.Add(-time.Second)))
				}
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

// TestLongReason: what is too long is cut between characters.
func TestLongReason(t *testing.T) {
	got := control.Parse(map[string]string{"freeze": "true", control.ReasonKey: "a" + strings.Repeat("ü", 300)})
	if !utf8.ValidString(got.Reason) || len(got.Reason) > 256 || !strings.HasSuffix(got.Reason, "ü") {
		t.Errorf("%d bytes: %q", len(got.Reason), got.Reason)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("true", "2026-11-21T13:00:00Z", `- {selector: "a=b", until: "2026-11-21T13:00:00Z"}`)
	f.Add("x", "y", "- - -")
	f.Fuzz(func(t *testing.T, freeze, until, pauses string) {
		c := control.Parse(map[string]string{"freeze": freeze, "freeze-until": until, "pauses": pauses}).Bounded(now)
		if freeze != "" && !c.Frozen && freeze != "false" && len(c.Problems) > 0 && strings.HasPrefix(c.Problems[0], "freeze:") {
			t.Fatal("what was not understood lets go")
		}
		if p, ok := c.Paused(&metav1.ObjectMeta{}, now); ok && p.Until.Sub(now) > control.MaxPause {
			t.Fatalf("paused until %v", p.Until)
		}
	})
}

func FuzzParseWindow(f *testing.F) {
	f.Add("CRON_TZ=Europe/Berlin 0 22 * * 1-5 6h")
	f.Add("@every 1h 1h")
	f.Add("TZ= 0 0 1 1 * 1h")
	f.Fuzz(func(t *testing.T, text string) {
		w, err := control.ParseWindow(text)
		if err != nil {
			return
		}
		if at := control.Opening([]control.Window{w}, now); !at.IsZero() && at.Before(now) {
			t.Fatalf("opens at %v", at)
		}
	})
}
