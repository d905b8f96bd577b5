package app

import (
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/kube"
)

// TestTouched: a hint of the watch can be recorded whatever the field manager is called, and was not written in the time to come.
func TestTouched(t *testing.T) {
	now := time.Date(2026, 11, 27, 1, 0, 0, 0, time.UTC)
	config := reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: "db"}
	for name, touch := range map[string]kube.Touch{
		"unknown":     {Config: config, Verb: reloader.VerbDelete},
		"clock ahead": {Config: config, Verb: reloader.VerbUpdate, Manager: "kubectl", At: now.Add(time.Hour)},
		"long name":   {Config: config, Verb: reloader.VerbUpdate, Manager: strings.Repeat("é", reloader.MaxFieldManagerLength), At: now},
	} {
		h := touched(touch, "local", now).Hint()
		if _, err := reloader.Encode(h); err != nil || h.Source != reloader.SourceWatch || h.Config != config || h.Time != now || h.Received != now {
			t.Errorf("%s: %v, %+v", name, err, h)
		}
	}
	if h := touched(kube.Touch{Config: config, At: now.Add(-time.Minute)}, "local", now).Hint(); h.Time != now.Add(-time.Minute) {
		t.Errorf("written at %s", h.Time)
	}
}
