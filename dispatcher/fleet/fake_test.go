package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/reroll-dev/reroll/dispatcher/fleet"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/live"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const owner = "c1"

var (
	flags  = reloader.Config{Kind: reloader.ConfigMap, Namespace: "shared", Name: "flags"}
	prices = reloader.Config{Kind: reloader.ConfigMap, Namespace: "shared", Name: "prices"}

	errAway = errors.New("the API server does not answer")
)

// cluster is the owner of configs, as the ports of a Fleet show it.
type cluster struct {
	t *testing.T
	*fleet.Fleet
	// followers has the annotation of each config that exists, and content its content.
	followers map[reloader.Config]string
	content   map[reloader.Config]int
	// fail is the error of every read.
	fail error
	// metas and looks count the reads.
	metas, looks int
	due          map[reloader.Config]time.Time
	sent         []reloader.Copy
	news         []reloader.Config
}

// inCluster runs a test with a clock of its own.
func inCluster(t *testing.T, test func(t *testing.T, c *cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{t: t, followers: map[reloader.Config]string{}, content: map[reloader.Config]int{}, due: map[reloader.Config]time.Time{}}
		c.Fleet = fleet.New(fleet.Options{
			Cluster: owner, Configs: c, Queue: c, Copies: c, News: func(of reloader.Config) { c.news = append(c.news, of) },
		})
		test(t, c)
	})
}

func (c *cluster) meta(of reloader.Config) live.Meta {
	return live.Meta{Annotations: map[string]string{dialect.FollowersKey: c.followers[of]}}
}

func (c *cluster) Meta(_ context.Context, of reloader.Config) (live.Meta, bool, error) {
	c.metas++
	_, present := c.followers[of]
	return c.meta(of), present && c.fail == nil, c.fail
}

func (c *cluster) Look(_ context.Context, of reloader.Config) (fleet.Seen, error) {
	c.looks++
	_, present := c.followers[of]
	change := reloader.Change{Cluster: owner, Config: of, ID: fmt.Sprint(of.Name, "-", c.content[of])}
	return fleet.Seen{Meta: c.meta(of), Present: present, Change: change}, c.fail
}

func (c *cluster) Add(of reloader.Config) { c.due[of] = time.Now() }

func (c *cluster) Send(one reloader.Copy) { c.sent = append(c.sent, one) }

// want has a cluster want configs, all under one number, and pass exports what is due then.
func (c *cluster) want(target string, number uint64, configs ...reloader.Config) {
	want := reloader.Want{Owner: owner, Target: target}
	for _, one := range configs {
		want.Configs = append(want.Configs, reloader.Follow{Config: one, Number: number})
	}
	c.Wanted(want)
	c.pass(0)
}

// pass lets time go by and exports what is due.
func (c *cluster) pass(d time.Duration) {
	c.t.Helper()
	<-time.After(d)
	for of, at := range c.due {
		if at.After(time.Now()) {
			continue
		}
		delete(c.due, of)
		if err := c.Export(c.t.Context(), of); err != nil {
			if c.fail == nil || !errors.Is(err, c.fail) {
				c.t.Errorf("export %s: %v", of, err)
			}
			c.due[of] = time.Now().Add(time.Second)
		}
	}
}

// edit gives a config another content.
func (c *cluster) edit(of reloader.Config) {
	c.content[of]++
	c.Touched(of)
	c.pass(0)
}

// told returns what was sent to a cluster since it was last asked, each as the change and the number that it answers, or "refused".
func (c *cluster) told(target string) (lines []string) {
	c.sent = slices.DeleteFunc(c.sent, func(one reloader.Copy) bool {
		if one.Target != target {
			return false
		}
		line := one.Change.ID
		if one.Refused != "" {
			line += "refused"
		}
		lines = append(lines, fmt.Sprintf("%s for %d", line, one.Answers))
		return true
	})
	return lines
}
