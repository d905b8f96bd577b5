package fleet_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/dispatcher/fleet"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/live"
)

// check fails the test unless a cluster was told that since it was last asked.
func (c *cluster) check(when, target string, want ...string) {
	c.t.Helper()
	if diff := cmp.Diff(want, c.told(target)); diff != "" {
		c.t.Errorf("%s, %s was told (-want +got):\n%s", when, target, diff)
	}
}

// TestCopiesAnswerTheNewestQuestion: a copy has the number that the target gave, and another number is answered at once.
func TestCopiesAnswerTheNewestQuestion(t *testing.T) {
	inCluster(t, func(_ *testing.T, c *cluster) {
		c.followers[flags] = "c2"
		for number := range uint64(2) {
			c.want("c2", number+7, flags)
			c.check("asked", "c2", fmt.Sprintf("flags-0 for %d", number+7))
			c.want("c2", number+7, flags)
			c.check("asked the same again", "c2")
		}
		c.edit(flags)
		c.check("after an edit", "c2", "flags-1 for 8")
		c.pass(2 * time.Minute)
		c.want("c2", 8, flags)
		c.check("asked again later", "c2", "flags-1 for 8")
	})
}

// TestOwnerDecidesWhoMayFollow: the annotation of the config names who is told. Nothing but metadata is read for others.
func TestOwnerDecidesWhoMayFollow(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		meta := func(followers string) live.Meta {
			c.followers[flags] = followers
			return c.meta(flags)
		}
		c.followers[flags] = "c9"
		c.want("c2", 1, flags)
		c.want("c3", 1, flags)
		c.check("not named", "c2", "refused for 1", "refused for 1") // also when c3 asks
		c.check("not named", "c3", "refused for 1")
		if c.looks > 0 || c.Exports(flags) || c.ExportsIn(reloader.ConfigMap, "shared") != nil || c.Lets(flags, c.meta(flags)) {
			t.Errorf("%d looks at a config that lets nobody follow; it is open: %t", c.looks, c.Exports(flags))
		}
		m := meta("c3, c4")
		c.Touched(reloader.Config{Kind: reloader.ConfigMap, Namespace: "shared"})
		c.pass(0)
		c.check("c3 is named", "c2", "refused for 1")
		c.check("c3 is named", "c3", "flags-0 for 1")
		if !c.Exports(flags) || !slices.Equal(c.ExportsIn(reloader.ConfigMap, "shared"), []reloader.Config{flags}) || !c.Lets(flags, m) || c.Lets(flags, live.Meta{}) {
			t.Error("a config that lets c3 follow is not open")
		}
		if c.ExportsIn(reloader.Secret, "shared") != nil || c.Exports(prices) || c.Lets(prices, m) {
			t.Error("others are open")
		}
		if m.Unselected = true; fleet.Allows(m, "c3") {
			t.Error("a config that Reroll does not look for may be followed")
		}
		delete(c.followers, flags)
		looks := c.looks
		c.Touched(flags)
		c.pass(0)
		c.check("it is gone", "c3", "refused for 1")
		if c.looks != looks+1 || c.Exports(flags) {
			t.Errorf("%d looks record the end of a config, want 1; it is open: %t", c.looks-looks, c.Exports(flags))
		}
	})
}

// TestUnreadableConfig: an error that passes is told to nobody, and one that does not pass is a refusal.
func TestUnreadableConfig(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		c.followers[flags], c.fail = "*", errAway
		c.want("c2", 1, flags)
		c.check("the API server does not answer", "c2")
		c.fail = nil
		c.pass(time.Second)
		c.check("it answers", "c2", "flags-0 for 1")
		c.fail = fmt.Errorf("forbidden: %w", fleet.ErrUnreadable)
		c.Touched(flags)
		c.pass(0)
		c.check("it forbids", "c2", "refused for 1")
		if c.Exports(flags) {
			t.Error("a config that may not be read is open")
		}
	})
}

// TestTargetDrivesNoReads: however often a cluster asks, under new numbers or for others, its owner looks at no more than it has granted to a
// cluster, and serves others meanwhile.
func TestTargetDrivesNoReads(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		c.followers[flags] = "c3"
		for number := range uint64(50) {
			c.want("c2", number, flags)
			c.pass(time.Second)
		}
		if told := c.told("c2"); len(told) != 50 || told[49] != "refused for 49" {
			t.Errorf("c2 was told %q", told)
		}
		for round := range 30 {
			var configs []reloader.Config
			for n := range reloader.MaxWanted {
				configs = append(configs, reloader.Config{Kind: reloader.Secret, Namespace: "kube-system", Name: fmt.Sprintf("guess-%d-%d", round, n)})
			}
			c.want("c2", 1, configs...)
			if round == 20 {
				c.want("c3", 1, flags)
				c.check("meanwhile", "c3", "flags-0 for 1")
			}
			c.pass(time.Second)
		}
		if c.metas > 2*reloader.MaxWanted {
			t.Errorf("%d reads in half a minute", c.metas)
		}
	})
}
