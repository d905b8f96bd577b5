package control_test

import (
	"strings"
	"testing"
	"time"

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

// FuzzRetries reads the keys that ask for another try, as kubectl and the commands write them.
func FuzzRetries(f *testing.F) {
	f.Add("shop/Deployment/web", "retry.Deployment.shop.web", "2026-11-21T12:00:00Z")
	f.Add("shop/Secret/a.b", "retry.Secret.shop.a.b", "now")
	f.Add("//", "retry...", "0000-01-01T00:00:00Z")
	f.Fuzz(func(t *testing.T, target, key, value string) {
		c := control.Parse(map[string]string{key: value})
		for _, problem := range c.Problems {
			if len(problem) > 1024 {
				t.Errorf("a problem of %d bytes", len(problem))
			}
		}
		for name := range c.Retries {
			if strings.Count(name, "/") < 2 || c.Retried(name).Format(time.RFC3339) == "" {
				t.Errorf("%q asks for %q", key, name)
			}
		}
		made, err := control.RetryKey(target)
		if err != nil {
			return
		}
		parts := strings.Split(target, "/")
		name := parts[1] + "/" + parts[0] + "/" + parts[2]
		if again := control.Parse(map[string]string{made: "2026-11-21T12:00:00Z"}); again.Retried(name).IsZero() {
			t.Errorf("%s became the key %q, which asks for %v", target, made, again.Retries)
		}
	})
}
