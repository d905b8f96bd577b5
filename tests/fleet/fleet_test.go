package fleet

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

const (
	// flagged is how often the config is edited that others follow before servers are killed, and followers how many workloads in the cluster that
	// is cut off follow it.
	flagged, followers = 5, 3
	// resumeTime is how long after a cut the hub may lack something, once its streams are led.
	resumeTime = 30 * time.Second
)

// streams are those of the hub whose leaders are killed in turn.
var streams = []string{"FOLLOW", "HISTORY", "STATE"}

// TestFleet: c2 is cut off, and servers of the hub are killed, while configs change everywhere, and once more when the cut has ended. Each cluster continues by itself, and the API of the
// hub says who is silent; in the end the hub has every record once, and who follows a config of c1 was rolled for its newest change, in
// c2 once for all of the cut.
func TestFleet(t *testing.T) {
	_, err := line.Build(t.Context())
	line.Must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), testTime) // building has its own
	defer cancel()
	h := startHub(ctx, t)
	r, err := line.StartAPI(ctx, append([]string{"--set", "nats.url=" + h.URL}, login(t, "nats", natsserver.HubUser)...)...)
	line.Must(t, err)
	t.Cleanup(r.Kill)
	api := hubAPI{r}
	fleet := map[string]*cluster{}
	for _, name := range []string{"c1", "c2", "c3"} {
		fleet[name] = startCluster(ctx, t, name, h)
	}
	owner, away, near := fleet["c1"], fleet["c2"], fleet["c3"]
	owner.Config("flags", "0")
	owner.Kubectl("annotate", "configmap/flags", "reroll.dev/followers=c2, c3")
	for i := range followers {
		away.deploy(fmt.Sprint("follower-", i), following)
	}

	away.link.Set(true)
	began := time.Now()
	near.deploy("follower", following)

	edits := 0
	edit := func() {
		edits++
		owner.Edit("flags", fmt.Sprint(edits))
	}
	for range flagged {
		edit()
		near.waitRolls("follower", edits)
	}
	for n := range kills {
		line.Must(t, h.KillLeader(ctx, streams[n%len(streams)], func() error {
			for _, c := range fleet {
				c.probe() // neither the cut nor the hub holds up anybody
			}
			edit()
			return nil
		}))
		near.waitRolls("follower", edits)
	}
	api.warns(ctx, t, away.name)
	away.probe()
	for i := range followers {
		if n := away.Rolls(fmt.Sprint("follower-", i)); n != 0 {
			t.Errorf("a follower that is cut off rolled %d times", n)
		}
	}
	<-time.After(cutTime - time.Since(began))
	away.link.Set(false)
	t.Logf("c2 was cut off for %s", time.Since(began).Round(time.Second))
	line.Must(t, h.KillLeader(ctx, "FOLLOW", func() error { return nil }))
	mended := time.Now()
	for i := range followers {
		away.waitRolls(fmt.Sprint("follower-", i), 1)
	}
	t.Logf("the followers had rolled %s after the hub was there again", time.Since(mended).Round(time.Millisecond))
	api.hasAllOf(ctx, away)
	took := time.Since(mended)
	if t.Logf("the hub had everything after %s", took.Round(time.Millisecond)); took > resumeTime {
		t.Errorf("more than %s", resumeTime)
	}
	edit()
	for i := range followers {
		away.waitRolls(fmt.Sprint("follower-", i), 2)
	}
	near.waitRolls("follower", edits)
	for _, c := range fleet {
		c.probe()
		if n := c.Rolls("sentinel"); n != c.probes {
			t.Errorf("the sentinel of %s rolled %d times for %d edits", c.name, n, c.probes)
		}
	}
	for i := range followers {
		if n := away.Rolls(fmt.Sprint("follower-", i)); n != 2 {
			t.Errorf("follower %d in c2 rolled %d times, want 1 for all of the cut and 1 after it", i, n)
		}
	}
	if got := near.Rolls("follower"); got != edits {
		t.Errorf("the follower in c3 rolled %d times, want %d", got, edits)
	}
	near.followsSecret(owner)
	h.hides(secretContent, "token")
	for _, c := range fleet {
		api.hasAllOf(ctx, c)
	}
	api.lists(ctx, t, fleet)
}
