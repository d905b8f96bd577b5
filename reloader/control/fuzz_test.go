package control_test

import (
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/reloader/control"
)

// FuzzParseWindows reads lists of windows, as flags and annotations have them.
func FuzzParseWindows(f *testing.F) {
	f.Add("CRON_TZ=Europe/Berlin 0 22 * * 1-5 6h; 0 12 * * * 1h")
	f.Add(";;")
	f.Add("* * * * * 1ns;@yearly 8784h")
	f.Add("*/1000000 0-23 ? JAN-DEC MON#1 1h")
	f.Fuzz(func(t *testing.T, text string) {
		windows, err := control.ParseWindows(text)
		if err != nil {
			if len(windows) > 0 || len(err.Error()) > 1024 {
				t.Errorf("%d windows beside an error of %d bytes", len(windows), len(err.Error()))
			}
			return
		}
		if len(windows) > 1+strings.Count(text, ";") {
			t.Errorf("%d windows in %q", len(windows), text)
		}
		at := control.Opening(windows, now)
		if at.IsZero() {
			return
		}
		if at.Before(now) || !control.Opening(windows, at).Equal(at) {
			t.Errorf("%q opens at %v, and then at %v", text, at, control.Opening(windows, at))
		}
	})
}
