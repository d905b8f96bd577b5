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
	if frozen, until := now.Freeze(time.Now()); !frozen || !until.IsZero() || now.Reason == "" {
		t.Errorf("held back %v until %s because of %q, want all until it is read", frozen, until, now.Reason)
	}
	if err := c.healthy(t.Context()); !errors.Is(err, refused) {
		t.Errorf("ready although nobody knows of a freeze: %v", err)
	}
	c.say(nil, time.Time{})
	c.fail(refused) // which comes too late
	if frozen, _ := now.Freeze(time.Now()); frozen || c.healthy(t.Context()) != nil {
		t.Errorf("held back %v, %v although there is no ConfigMap", frozen, c.healthy(t.Context()))
	}
}
