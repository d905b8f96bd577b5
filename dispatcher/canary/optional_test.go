package canary_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/dispatcher/canary"
	"github.com/reroll-dev/reroll/reloader"
)

// optional lets the feed be missing.
func optional(c *cage) { c.options = func(o *canary.Options) { o.Optional = true } }

// TestOptionalFeed: next to a watch, a feed that nobody set up is no trouble, and one that worked before and does not now is.
func TestOptionalFeed(t *testing.T) {
	mute := func(c *cage) { c.mute["a"], c.mute["b"] = true, true }
	for name, tc := range map[string]struct {
		reason string
		before func(c *cage)
		steps  func(c *cage)
		told   []string // sorted
		// silent and notSetUp count API servers.
		silent, notSetUp float64
		suspected        int
	}{
		"never set up": {
			reason: "that is said once, as news and not as trouble",
			before: mute,
			told:   []string{"the audit feed is not set up: a", "the audit feed is not set up: b"}, notSetUp: 2,
		},
		"set up later": {
			reason: "what stayed away before is not lost",
			before: mute,
			steps:  func(c *cage) { c.mute["a"], c.mute["b"] = false, false },
			told: []string{
				"the audit feed is not set up: a", "the audit feed is not set up: b", "the audit feed works: a", "the audit feed works: b",
			},
		},
		"set up at one of two": {
			reason: "once one API server sends events, the other one is missed",
			before: mute,
			steps:  func(c *cage) { c.mute["a"] = false },
			told: []string{
				"the audit feed is not set up: a", "the audit feed is not set up: b", "the audit feed is silent: b", "the audit feed works: a",
			},
			silent: 1, suspected: 1,
		},
		"proven to an earlier process": {
			reason: "a restart does not make a broken feed one that was never there",
			before: func(c *cage) { mute(c); c.proven[reloader.ConfigMap] = true },
			told:   []string{"the audit feed is silent: a", "the audit feed is silent: b"}, silent: 2, suspected: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inCage(t, func(c *cage) { optional(c); tc.before(c) }, func(t *testing.T, c *cage) {
				c.pass(time.Hour)
				if tc.steps != nil {
					c.set(func() { tc.steps(c) })
					c.pass(time.Hour)
				}
				if diff := cmp.Diff(tc.told, slices.Sorted(slices.Values(c.told()))); diff != "" {
					t.Errorf("log (-want +got):\n%s%s", diff, tc.reason)
				}
				if strings.Contains(c.log.String(), "level=WARN") != (tc.silent > 0) {
					t.Errorf("warnings in the log: %s\n%s", tc.reason, c.log.String())
				}
				silent, notSetUp := c.value("reroll_canary_addresses", "silent"), c.value("reroll_canary_addresses", "notSetUp")
				if silent != tc.silent || notSetUp != tc.notSetUp || c.value("reroll_feed_silent", "") != min(1, tc.silent) {
					t.Errorf("%v silent, %v not set up; want %v, %v: %s", silent, notSetUp, tc.silent, tc.notSetUp, tc.reason)
				}
				if (len(c.suspicions) > 0) != (tc.suspected > 0) {
					t.Errorf("suspicions %q: %s", c.suspicions, tc.reason)
				}
			})
		})
	}
}

// TestPolicyWithoutAKind: an audit policy without Secrets silences the Secret canary alone, whose cause names the policy. Where the feed is
// optional, it counts as not set up for Secrets.
func TestPolicyWithoutAKind(t *testing.T) {
	for name, isOptional := range map[string]bool{"required": false, "optional": true} {
		t.Run(name, func(t *testing.T) {
			before := func(c *cage) {
				c.unaudited[reloader.Secret] = true
				c.options = func(o *canary.Options) {
					o.Kinds, o.Optional = []reloader.ConfigKind{reloader.ConfigMap, reloader.Secret}, isOptional
				}
			}
			inCage(t, before, func(t *testing.T, c *cage) {
				c.pass(time.Hour)
				want := "silent"
				if isOptional {
					want = "heard"
				}
				for _, f := range c.canary.Status() {
					if f.State != want {
						t.Errorf("the feed from %s is %s, want %s", f.Address, f.State, want)
					}
				}
				if n := c.value("reroll_canary_addresses", want); n != 2 {
					t.Errorf("%v API servers are %s, want both", n, want)
				}
				if named := strings.Contains(c.log.String(), "kind=Secret likelyCause=\"the audit policy"); named == isOptional {
					t.Errorf("the log names the policy: %t\n%s", named, c.log.String())
				}
				if (len(c.suspicions) > 0) == isOptional {
					t.Errorf("suspicions %q", c.suspicions)
				}
				if strings.Contains(c.log.String(), "the audit feed is silent\" apiserver=a kind=ConfigMap") {
					t.Errorf("the feed of ConfigMaps is silent:\n%s", c.log.String())
				}
			})
		})
	}
}
