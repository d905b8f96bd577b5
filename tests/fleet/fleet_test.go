package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

const (
	// spread is over how many configs the updates of a cluster go: so many that a thousand of them are still on record when the cut is over.
	spread = 50
	// flagged is how often the config is edited that others follow before servers are killed, and followers how many workloads in the cluster that
	// is cut off follow it.
	flagged, followers = 5, 3
	// resumeTime is how long after a cut the hub may lack something, once its streams are led.
	resumeTime = 30 * time.Second
)

// streams are those of the hub whose leaders are killed in turn.
var streams = []string{"FOLLOW", "HISTORY", "STATE"}

// TestFleet: c2 is cut off, and servers of the hub are killed, while configs change everywhere, and once more when the cut has ended. Each cluster continues by itself, and the API of the
// hub says who is silent; in the end the hub has every record once, and who follows a config of c1 was rolled for its newest change, in c2 once for all of the cut; who
// reads a copy of it, once the copy had changed.
func TestFleet(t *testing.T) {
	_, err := line.Build(t.Context())
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), testTime) // building has its own
	defer cancel()
	h := startHub(ctx, t)
	api := startAPI(ctx, t, h)
	fleet := map[string]*cluster{}
	for _, name := range []string{"c1", "c2", "c3"} {
		fleet[name] = startCluster(ctx, t, name, h)
	}
	owner, away, near := fleet["c1"], fleet["c2"], fleet["c3"]
	must(t, owner.give(ctx, "flags", "0", map[string]string{"reroll.dev/followers": "c2, c3"}))
	for i := range followers {
		away.deploy(ctx, fmt.Sprint("follower-", i), following("flags"))
	}
	away.deployAll(ctx)

	away.link.Set(true)
	began := time.Now()
	owner.deployAll(ctx)
	near.deployAll(ctx)
	near.deploy(ctx, "follower", following("flags"))
	near.refused(ctx, owner)
	near.followsForATime(ctx, owner)

	edits := newLoad(ctx, fleet)
	flags := &edited{owner: owner, name: "flags"}
	for range flagged {
		must(t, flags.edit(ctx))
		near.waitRolls(ctx, "follower", flags.times)
	}
	for n := range kills {
		edits.during(ctx, t, func() error {
			return h.KillLeader(ctx, natsserver.Led{Stream: streams[n%len(streams)]}, func() error { return flags.edit(ctx) })
		})
		near.waitRolls(ctx, "follower", flags.times)
	}
	api.warns(ctx, t, away.name)
	edits.end(t)
	away.quiesce(ctx) // the cut holds up nobody there
	for i := range followers {
		if n := away.rolls(ctx, fmt.Sprint("follower-", i)); n != 0 {
			t.Errorf("a follower that is cut off rolled %d times", n)
		}
	}
	wait(ctx, cutTime-time.Since(began))
	own := away.own(ctx)
	away.link.Set(false)
	t.Logf("c2 was cut off for %s", time.Since(began).Round(time.Second))
	must(t, h.KillLeader(ctx, natsserver.Led{Stream: "FOLLOW"}, func() error { return nil }))
	mended := time.Now()
	for i := range followers {
		away.waitRolls(ctx, fmt.Sprint("follower-", i), 1)
	}
	t.Logf("the followers had rolled %s after the hub was there again", time.Since(mended).Round(time.Millisecond))
	took := arrives(ctx, t, h, away, own).Sub(mended)
	if t.Logf("the hub had everything %s after that", took.Round(time.Millisecond)); took > resumeTime {
		t.Errorf("more than %s", resumeTime)
	}
	must(t, flags.edit(ctx))
	for i := range followers {
		away.waitRolls(ctx, fmt.Sprint("follower-", i), 2)
	}
	near.waitRolls(ctx, "follower", flags.times)
	for _, c := range fleet {
		c.quiesce(ctx)
		rolledForEach(ctx, t, c, edits)
		arrives(ctx, t, h, c, c.own(ctx))
	}
	for i := range followers {
		if n := away.rolls(ctx, fmt.Sprint("follower-", i)); n != 2 {
			t.Errorf("follower %d in c2 rolled %d times, want 1 for all of the cut and 1 after it", i, n)
		}
	}
	if got := near.rolls(ctx, "follower"); got != flags.times {
		t.Errorf("the follower in c3 rolled %d times, want %d", got, flags.times)
	}
	near.followsAnew(ctx, owner)
	near.followsSecret(ctx, owner)
	h.hides(secretContent, "token")
	for _, c := range fleet {
		api.hasWorkloads(ctx, c)
	}
	api.lists(ctx, t, fleet)
	away.measures(ctx)
}

// measures fails the test unless the cluster, which was cut off for a time, tells of it by the metrics that docs/alerts-and-metrics.md names.
func (c *cluster) measures(ctx context.Context) {
	c.t.Helper()
	document, err := os.ReadFile("../../docs/alerts-and-metrics.md")
	must(c.t, err)
	documented := regexp.MustCompile("(?m)^\\| `(reroll_forward_\\w+)`").FindAllStringSubmatch(string(document), -1)
	metrics, err := c.Reroll.Metrics(ctx)
	must(c.t, err)
	exposed := regexp.MustCompile(`(?m)^# TYPE reroll_forward_`).FindAllString(metrics, -1)
	if len(exposed) != len(documented) {
		c.t.Errorf("%d metrics of forwarding, and %d in the document", len(exposed), len(documented))
	}
	for _, metric := range documented {
		if !strings.Contains(metrics, "# TYPE "+metric[1]+" ") {
			c.t.Errorf("%s is not exposed", metric[1])
		}
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// kindsOfRecords are those that are counted: where a cluster tells of its own, and where they are at the hub.
var kindsOfRecords = []struct{ path, prefix string }{
	{"/api/v1/changes", "reroll.change."},
	{"/api/v1/reloads", "reroll.reload."},
}

// own returns the IDs of what the cluster has on record, by the path of their kind.
func (c *cluster) own(ctx context.Context) map[string]map[string]bool {
	c.t.Helper()
	own := map[string]map[string]bool{}
	for _, kind := range kindsOfRecords {
		found, err := ids(ctx, c.Reroll, kind.path, c.name)
		must(c.t, err)
		own[kind.path] = found
	}
	return own
}

// arrives waits until the hub has those records of a cluster, and fails the test if these are fewer than there were updates, or if the hub has
// anything twice. It returns when the hub stored the last of them.
func arrives(ctx context.Context, t *testing.T, h *hub, c *cluster, own map[string]map[string]bool) (last time.Time) {
	t.Helper()
	for _, kind := range kindsOfRecords {
		if n := len(own[kind.path]); n < updates {
			t.Errorf("%s has %d %s of %d updates on record", c.name, n, kind.path, updates)
		}
		must(t, line.Poll(ctx, func(ctx context.Context) error {
			at, err := h.arrived(ctx, kind.prefix+c.name+".>")
			if err != nil {
				return err
			}
			for word, n := range at.times {
				if n > 1 {
					return line.Stop(fmt.Errorf("the hub has %d times of %s: %s", n, c.name, word))
				}
			}
			var errs []error
			for id := range own[kind.path] {
				if at.first[id].IsZero() {
					errs = append(errs, fmt.Errorf("the hub lacks %s of %s", id, c.name))
				} else if at.first[id].After(last) {
					last = at.first[id]
				}
			}
			return errors.Join(errs...)
		}))
		t.Logf("%s: %d %s at the hub, each once", c.name, len(own[kind.path]), kind.path)
	}
	return last
}
