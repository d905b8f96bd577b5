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
)

const (
	// spread is over how many configs the updates of a cluster go.
	spread = 10
	// flagged is how often the config is edited that others follow.
	flagged = 5
)

// TestFleet: c2 is cut off, and servers of the hub are killed, while configs change everywhere. Each cluster goes on by itself; in the end
// the hub has every record once, and who follows a config of c1 was rolled for its newest change, in c2 once; who reads a copy of it, once the copy had
// changed.
func TestFleet(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	defer cancel()
	h := startHub(ctx, t)
	fleet := map[string]*cluster{}
	for _, name := range []string{"c1", "c2", "c3"} {
		fleet[name] = startCluster(ctx, t, name, h)
		for i := range spread {
			fleet[name].deploy(ctx, fmt.Sprint("app-", i), map[string]string{"reloader.stakater.com/auto": "true"})
		}
	}
	owner, away, near := fleet["c1"], fleet["c2"], fleet["c3"]
	must(t, owner.give(ctx, "flags", "0", map[string]string{"reroll.dev/followers": "c2, c3"}))
	follows := map[string]string{"reroll.dev/follow": "c1/" + namespace + "/configmap/flags"}
	away.deploy(ctx, "follower", follows)
	near.deploy(ctx, "follower", follows)
	near.deploy(ctx, reader, map[string]string{"reroll.dev/follow": follows["reroll.dev/follow"] + "=" + reader})

	away.link.set(true)
	began := time.Now()
	load := make(chan error, len(fleet))
	for _, c := range fleet {
		go func() { load <- c.load(ctx) }()
	}
	for n := range flagged {
		before := near.rolls(ctx, "follower")
		must(t, owner.give(ctx, "flags", fmt.Sprint(n+1), nil))
		near.waitRolls(ctx, "follower", before+1)
	}
	near.replicates(ctx)
	for n := range kills {
		must(t, h.killLeader(ctx, []string{"CHANGES", "RELOADS"}[n%2]))
	}
	for range fleet {
		must(t, <-load)
	}
	away.quiesce(ctx) // the cut holds up nobody there
	if n := away.rolls(ctx, "follower"); n != 0 {
		t.Errorf("the follower that is cut off rolled %d times", n)
	}
	wait(ctx, cutTime-time.Since(began))
	away.link.set(false)
	mended := time.Now()
	away.waitRolls(ctx, "follower", 1)
	t.Logf("the follower rolled %s after the cut had ended", time.Since(mended).Round(time.Millisecond))
	for _, c := range fleet {
		c.quiesce(ctx)
		arrives(ctx, t, h, c)
	}
	t.Logf("the hub had everything %s after the cut had ended", time.Since(mended).Round(time.Millisecond))
	if got := [3]int64{away.rolls(ctx, "follower"), near.rolls(ctx, "follower"), near.rolls(ctx, reader)}; got != [3]int64{1, flagged, 1} {
		t.Errorf("followers rolled %d times, want 1, %d, and 1 of the copy", got, flagged)
	}
	lists(ctx, t, h)
	away.measures(ctx)
}

// measures fails the test unless the cluster, which was cut off for a time, tells of it by the metrics that docs/operations.md names.
func (c *cluster) measures(ctx context.Context) {
	c.t.Helper()
	document, err := os.ReadFile("../../docs/operations.md")
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

// load edits configs one after the other, at a pace that lasts as long as the cut.
func (c *cluster) load(ctx context.Context) error {
	pace := time.NewTicker(max(time.Millisecond, cutTime/time.Duration(updates)))
	defer pace.Stop()
	for n := range updates {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pace.C:
		}
		if err := c.give(ctx, fmt.Sprint("app-", n%spread), fmt.Sprint(n+1), nil); err != nil {
			return err
		}
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// arrives waits until the hub has what a cluster has on record, and fails the test if it has anything twice.
func arrives(ctx context.Context, t *testing.T, h *hub, c *cluster) {
	t.Helper()
	for _, kind := range []struct{ path, stream, filter string }{
		{"/api/v1/changes", "CHANGES", "reroll.change." + c.name + ".>"},
		{"/api/v1/reloads", "RELOADS", "reroll.reload." + c.name + ".>"},
	} {
		own, err := ids(ctx, c.Reroll, kind.path, c.name)
		must(t, err)
		must(t, line.Poll(ctx, func(ctx context.Context) error {
			at, err := h.ids(ctx, kind.stream, kind.filter)
			if err != nil {
				return err
			}
			var errs []error
			for id, n := range at {
				if n > 1 {
					return line.Stop(fmt.Errorf("the hub has %s of %s %d times", id, c.name, n))
				}
			}
			for id := range own {
				if at[id] == 0 {
					errs = append(errs, fmt.Errorf("the hub lacks %s of %s", id, c.name))
				}
			}
			return errors.Join(errs...)
		}))
		t.Logf("%s: %d %s at the hub, each once", c.name, len(own), kind.stream)
	}
}

// lists asks the API of the hub for all clusters.
func lists(ctx context.Context, t *testing.T, h *hub) {
	t.Helper()
	api := startAPI(ctx, t, h)
	must(t, line.Poll(ctx, func(ctx context.Context) error {
		var page struct {
			Items []struct {
				Name, Health, Version string
				Sources               []struct{ Source string }
				Forward               *struct{ Gaps []struct{ Reason string } }
			}
			Warnings []string
		}
		if err := api.get(ctx, "/api/v1/clusters", &page); err != nil {
			return err
		}
		if len(page.Items) != 3 || len(page.Warnings) != 0 {
			return fmt.Errorf("the hub lists %+v", page)
		}
		for _, c := range page.Items {
			if c.Health != "Healthy" || c.Version == "" || len(c.Sources) == 0 || c.Forward == nil || len(c.Forward.Gaps) != 0 {
				return fmt.Errorf("cluster %s: %+v", c.Name, c)
			}
		}
		return nil
	}))
}
