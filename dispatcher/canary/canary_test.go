package canary_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

func TestCanary(t *testing.T) {
	const deadline = 2 * time.Minute
	for name, tc := range map[string]struct {
		reason string
		steps  func(c *cage)
		// told, suspected, silent and age are what it comes to.
		told, suspected []string
		silent          float64
		age             time.Duration
		states          string // heard, silent, refused
	}{
		"works": {
			reason: "canaries that come back are told of once",
			steps:  func(c *cage) { c.pass(time.Hour) },
			told:   []string{"the audit feed works: a", "the audit feed works: b"}, states: "2 0 0",
		},
		"silent": {
			reason: "a feed that stops is silent once the deadline of the first lost canary is over, and swept for every minute",
			steps: func(c *cage) {
				c.pass(time.Minute)
				c.set(func() { c.mute["a"], c.mute["b"] = true, true })
				c.pass(time.Minute + deadline + 2*time.Minute)
			},
			told: []string{
				"the audit feed works: a", "the audit feed works: b", "the audit feed is silent: a", "the audit feed is silent: b",
			},
			suspected: []string{"the audit feed is silent", "the audit feed is silent", "the audit feed is silent", "the audit feed is silent"},
			silent:    1, states: "0 2 0", age: 5 * time.Minute,
		},
		"one of two": {
			reason: "each API server sends its own events: one that is silent is told apart",
			steps: func(c *cage) {
				c.pass(time.Minute)
				c.set(func() { c.mute["b"] = true })
				c.pass(time.Minute + deadline)
			},
			told:      []string{"the audit feed works: a", "the audit feed works: b", "the audit feed is silent: b"},
			suspected: []string{"the audit feed is silent"}, silent: 1, states: "1 1 0", age: 3 * time.Minute,
		},
		"back": {
			reason: "a feed that comes back is told of once, and swept for once more",
			steps: func(c *cage) {
				c.pass(time.Minute)
				c.set(func() { c.mute["b"] = true })
				c.pass(time.Minute + deadline)
				c.set(func() { c.mute["b"] = false })
				c.pass(30 * time.Second)
				c.canary.Heard(reloader.Hint{AuditID: c.late[len(c.late)-1]})
				c.pass(time.Hour)
			},
			told: []string{
				"the audit feed works: a", "the audit feed works: b", "the audit feed is silent: b", "the audit feed is back: b",
			},
			suspected: []string{"the audit feed is silent", "the audit feed is back"}, states: "2 0 0",
		},
		"one lost": {
			reason: "one lost batch is no silence, but events were in it",
			steps: func(c *cage) {
				c.set(func() { c.mute["b"] = true })
				c.pass(time.Minute)
				c.set(func() { c.mute["b"] = false })
				c.pass(time.Hour)
			},
			told:      []string{"the audit feed works: a", "the audit feed works: b", "a canary was lost: b"},
			suspected: []string{"a canary was lost"}, states: "2 0 0",
		},
		"refused": {
			reason: "an API server that takes no canary may have lost events when it went; that it goes on being away says no more",
			steps: func(c *cage) {
				c.pass(time.Minute)
				c.set(func() { c.refuse["a"] = errors.New("connection refused") })
				c.pass(10 * time.Minute)
			},
			told:      []string{"the audit feed works: a", "the audit feed works: b", "the canary is refused: a"},
			suspected: []string{"an API server refuses the canary"}, states: "1 0 1", age: 10 * time.Minute,
		},
		"gone": {
			reason: "an API server that was taken away, or has crashed, may have had events that it sends no more; what it does not do after that is no concern of ours",
			steps: func(c *cage) {
				c.set(func() { c.mute["b"] = true })
				c.pass(90 * time.Second)
				c.set(func() { c.addresses = []string{"a"} })
				c.pass(time.Hour)
			},
			told:      []string{"the audit feed works: a", "the audit feed works: b", "an API server is gone: b"},
			suspected: []string{"an API server is gone"}, states: "1 0 0",
		},
		"addresses cannot be read": {
			reason: "the addresses of before are the best guess",
			steps: func(c *cage) {
				c.pass(time.Minute)
				c.set(func() { c.addresses, c.lookup = nil, errors.New("etcd is away") })
				c.pass(time.Hour)
			},
			told: []string{"the audit feed works: a", "the audit feed works: b"}, states: "2 0 0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inCage(t, nil, func(t *testing.T, c *cage) {
				tc.steps(c)
				if diff := cmp.Diff(tc.told, c.told()); diff != "" {
					t.Errorf("log (-want +got):\n%s%s", diff, tc.reason)
				}
				if diff := cmp.Diff(tc.suspected, c.suspicions); diff != "" {
					t.Errorf("suspicions (-want +got):\n%s%s", diff, tc.reason)
				}
				if got := c.value("reroll_feed_silent", ""); got != tc.silent {
					t.Errorf("silent %v, want %v: %s", got, tc.silent, tc.reason)
				}
				if age := c.value("reroll_canary_age_seconds", ""); age < tc.age.Seconds() || age > (tc.age+time.Minute).Seconds() {
					t.Errorf("age %v s, want %s or up to a minute more: %s", age, tc.age, tc.reason)
				}
				if got := c.states(); got != tc.states {
					t.Errorf("heard, silent, refused: %s, want %s: %s", got, tc.states, tc.reason)
				}
			})
		})
	}
}

// TestSilenceHasACause: what silenced the feed is not the same if it ever worked.
func TestSilenceHasACause(t *testing.T) {
	inCage(t, nil, func(t *testing.T, c *cage) {
		c.set(func() { c.mute["b"] = true })
		c.pass(time.Hour)
		if !strings.Contains(c.log.String(), "cannot reach the ingest any more") {
			t.Errorf("no cause for a feed that worked before:\n%s", c.log.String())
		}
		c.set(func() { c.addresses = append(c.addresses, "new"); c.mute["new"] = true })
		c.pass(time.Hour)
		if !strings.Contains(c.log.String(), "no --audit-webhook-config-file") {
			t.Errorf("no cause for a feed that never worked:\n%s", c.log.String())
		}
	})
}
