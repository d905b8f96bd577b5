package app

import (
	"errors"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader/control"
)

// TestControlThatCannotBeRead: everything is held back until it can, and readiness says why.
func TestControlThatCannotBeRead(t *testing.T) {
	var now control.Control
	c := &controls{set: func(to control.Control) { now = to }}
	if err := c.healthy(t.Context()); err != nil {
		t.Fatalf("before it was looked for: %v", err)
	}
	refused := errors.New("no answer in 10s")
	c.fail(refused)
	if f, frozen := now.Freeze(time.Now()); !frozen || !f.Until.IsZero() || f.Reason == "" {
		t.Errorf("held back %v: %+v, want all until it is read", frozen, f)
	}
	if err := c.healthy(t.Context()); !errors.Is(err, refused) {
		t.Errorf("ready although nobody knows of a freeze: %v", err)
	}
	c.say(nil)
	c.fail(refused) // which comes too late
	if _, frozen := now.Freeze(time.Now()); frozen || c.healthy(t.Context()) != nil {
		t.Errorf("held back %v, %v although there is no ConfigMap", frozen, c.healthy(t.Context()))
	}
}

// TestControlNamesNobody: with --redact-actors the dispatcher does not learn who froze and paused, so that no status can store it.
func TestControlNamesNobody(t *testing.T) {
	for _, redact := range []bool{true, false} {
		var now control.Control
		c := &controls{redact: redact, set: func(to control.Control) { now = to }}
		c.say(map[string]string{control.Key: "{freeze: {by: alice}, pauses: [{by: alice, until: 2200-01-01T00:00:00Z}]}"})
		f, frozen := now.Freeze(time.Now())
		if !frozen || len(now.Pauses) != 1 || (f.By == "") != redact || (now.Pauses[0].By == "") != redact {
			t.Errorf("redact %v: freeze %+v, pauses %+v", redact, f, now.Pauses)
		}
	}
}
