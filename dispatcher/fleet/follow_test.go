package fleet_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/fleet"
	"github.com/reroll-dev/reroll/reloader"
)

// of returns a config of another cluster as it is called here.
func of(cluster string, c reloader.Config) reloader.Config {
	c.Cluster = cluster
	return c
}

// follow has workloads of one namespace follow configs, and returns what other clusters must be asked for.
func (c *cluster) follow(configs ...reloader.Config) []reloader.Follow {
	ask, _ := c.Follow(map[string][]reloader.Config{"shop": configs})
	c.pass(0)
	return ask
}

// copyOf returns what c2 tells of a config, by its clock.
func copyOf(c reloader.Config, number uint64, change string) reloader.Copy {
	return reloader.Copy{Owner: "c2", Target: owner, Config: c, Answers: number, Change: reloader.Change{ID: change, VerifiedAt: time.Now().Add(time.Hour)}}
}

func TestReceive(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		theirs := of("c2", flags)
		if c.Receive(copyOf(flags, 0, "a")) || len(c.news) > 0 {
			t.Error("a copy of a config that is not followed is taken")
		}
		ask := c.follow(theirs)
		if len(ask) != 1 || ask[0].Config != theirs || ask[0].Number == 0 {
			t.Fatalf("c2 is asked for %+v", ask)
		}
		if _, err := c.Newest(theirs); !errors.As(err, &fleet.FollowError{}) || !strings.Contains(err.Error(), "nothing has come from cluster c2") {
			t.Errorf("before a copy has come: %v", err)
		}
		first := copyOf(flags, ask[0].Number, "a")
		at := time.Now()
		for range 2 {
			if !c.Receive(first) || !slices.Equal(c.news, []reloader.Config{theirs}) {
				t.Errorf("news of %v, want one of %s", c.news, theirs)
			}
		}
		told, err := c.Newest(theirs)
		if err != nil || told.ID != "a" || told.Config != theirs || !told.VerifiedAt.Equal(at) {
			t.Errorf("told was %+v, %v", told, err)
		}
		<-time.After(time.Minute)
		first.Change.Candidates = []reloader.Candidate{{Actor: reloader.Actor{User: "bob"}, Time: at.Add(time.Hour)}}
		c.Receive(first)
		if told, _ = c.Newest(theirs); len(told.Candidates) != 1 || !told.Candidates[0].Time.Equal(time.Now()) {
			t.Errorf("a later word about the same change is %+v", told)
		}
		c.Receive(reloader.Copy{Owner: "c2", Target: owner, Config: flags, Refused: "no followers"})
		if _, err := c.Newest(theirs); !errors.As(err, &fleet.FollowError{}) || !strings.Contains(err.Error(), "no followers") {
			t.Errorf("after a refusal: %v", err)
		}
		if len(c.news) != 3 {
			t.Errorf("news of %v", c.news)
		}
	})
}

// TestQuestionThatBeginsAnew: what was told before is dropped.
func TestQuestionThatBeginsAnew(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		theirs := of("c2", flags)
		first := c.follow(theirs)[0].Number
		if again := c.follow(theirs)[0].Number; again != first {
			t.Errorf("the number of a question that goes on is %d, was %d", again, first)
		}
		c.Receive(copyOf(flags, first, "a"))
		c.follow()
		<-time.After(time.Minute)
		anew := c.follow(theirs)[0].Number
		if _, err := c.Newest(theirs); err == nil || anew == first {
			t.Errorf("number %d, was %d; what was told is kept: %v", anew, first, err)
		}
	})
}

// TestNamespacesShareWhatMayBeFollowed: a namespace that follows far too much takes nothing from another that follows little, whatever their
// names are. What is left out is reported once.
func TestNamespacesShareWhatMayBeFollowed(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		configs := func(of string, n int) (list []reloader.Config) {
			for i := range n {
				list = append(list, reloader.Config{Cluster: "c2", Kind: reloader.ConfigMap, Namespace: "shared", Name: fmt.Sprintf("%s-%04d", of, i)})
			}
			return list
		}
		wanted := map[string][]reloader.Config{
			"greedy": configs("a", reloader.MaxWanted+5),
			"modest": append(configs("z", 10), append(configs("a", 3), of("c5", flags))...),
		}
		ask, leftOut := c.Follow(wanted)
		asked := map[string]int{}
		for _, f := range ask {
			name, _, _ := strings.Cut(f.Config.Name, "-")
			asked[name]++
		}
		if asked["a"] != reloader.MaxWanted-10 || asked["z"] != 10 || asked["flags"] != 1 || len(leftOut) != 15 {
			t.Errorf("asked for are %v, %d are left out", asked, len(leftOut))
		}
		for _, out := range leftOut {
			if _, err := c.Newest(out); !errors.As(err, &fleet.FollowError{}) || !strings.Contains(err.Error(), "follow more than 1000 configs of cluster c2") {
				t.Errorf("what is left out: %v", err)
			}
		}
		if _, leftOut = c.Follow(wanted); len(leftOut) > 0 {
			t.Errorf("left out again are %v", leftOut)
		}
	})
}
