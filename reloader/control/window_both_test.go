package control_test

import (
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader/control"
)

func windows(t *testing.T, text string) []control.Window {
	t.Helper()
	if text == "" {
		return nil
	}
	found, err := control.ParseWindows(text)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestOpeningOfBoth(t *testing.T) {
	for name, c := range map[string]struct {
		reason, a, b string
		want         time.Time
	}{
		"neither":        {"always open", "", "", now},
		"one of them":    {"the other is always open", "CRON_TZ=UTC 0 18 * * * 1h", "", now.Add(6 * time.Hour)},
		"the other":      {"whichever it is", "", "CRON_TZ=UTC 0 18 * * * 1h", now.Add(6 * time.Hour)},
		"both open":      {"now", "CRON_TZ=UTC 0 12 * * * 1h", "CRON_TZ=UTC 30 11 * * * 1h", now},
		"one open":       {"tomorrow, when both are", "CRON_TZ=UTC 0 12 * * * 1h", "CRON_TZ=UTC 30 12 * * * 1h", now.Add(30 * time.Minute)},
		"one after":      {"on Monday at six", "CRON_TZ=UTC 0 18 * * * 2h", "CRON_TZ=UTC 0 17 * * 1 3h", now.Add(54 * time.Hour)},
		"never together": {"they do not meet", "CRON_TZ=UTC 0 18 * * * 1h", "CRON_TZ=UTC 0 20 * * * 1h", time.Time{}},
		"never at all":   {"no such day", "CRON_TZ=UTC 0 0 31 2 * 1h", "", time.Time{}},
	} {
		if got := control.OpeningOfBoth(windows(t, c.a), windows(t, c.b), now); !got.Equal(c.want) {
			t.Errorf("%s: opens %v, want %v: %s", name, got, c.want, c.reason)
		}
	}
}

func TestFaultyListsOfWindows(t *testing.T) {
	for _, text := range []string{"", ";", "0 3 * * * 1h;", strings.Repeat("0 3 * * * 1h;", 32) + "0 3 * * * 1h", strings.Repeat(" ", 7000)} {
		if found, err := control.ParseWindows(text); err == nil {
			t.Errorf("%.40q is taken for %v", text, found)
		}
	}
}
