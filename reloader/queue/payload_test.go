package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/reroll-dev/reroll/reloader"
)

// large returns a workload record, a change and a reload of some 150 KiB each.
func large(name string) (reloader.WorkloadRecord, reloader.Change, reloader.Reload) {
	w, c, r := record(name), change(name, "2"), reload(name, "r-"+name)
	c.New.Keys = map[string]string{}
	for i := range 2000 {
		key := fmt.Sprintf("%s-%040d", name, i)
		w.Edges = append(w.Edges, reloader.Edge{Config: config(key), Why: reloader.ReasonNamed})
		c.New.Keys[key] = "0123456789abcdef"
		c.Keys = append(c.Keys, reloader.KeyChange{Key: key, Op: reloader.KeyAdded})
	}
	r.Causes[0].Keys = append(slices.Clone(c.Keys), c.Keys...)
	return w, c, r
}

// TestServerThatTakesShortMessages: an external server takes less than the wire allows. Records are stored without some of their parts, and say so.
func TestServerThatTakesShortMessages(t *testing.T) {
	s := external(t, t.TempDir(), -1, func(o *server.Options) { o.MaxPayload = minPayload })
	q := open(t, Options{URL: s.ClientURL()})
	ctx := testContext(t)
	w, c, r := large("a")
	if err := q.PutWorkload(ctx, w); err != nil {
		t.Error(err)
	}
	if err := q.AppendReload(ctx, r); err != nil {
		t.Error(err)
	}
	appendChange(t, q, c, 0)
	stored, _, err := q.LatestChange(ctx, "blue", c.Config)
	if err != nil || !stored.Change.Lacks(reloader.PartKeys) || stored.Change.New.Sum != c.New.Sum {
		t.Errorf("%v: the change lacks %q, and its digest is %q", err, stored.Change.Shortened, stored.Change.New.Sum)
	}
	last, _, err := q.LastReload(ctx, "blue", r.Workload)
	if err != nil || !slices.Contains(last.Shortened, reloader.PartKeys) {
		t.Errorf("%v: the reload lacks %q", err, last.Shortened)
	}
	records, err := q.LoadWorkloads(ctx, "blue")
	if err != nil || len(records) != 1 || !slices.Contains(records[0].Shortened, reloader.PartDependencies) {
		t.Errorf("%v: %d records", err, len(records))
	}
}

// TestServerThatTakesTooShortMessages: below that, it is better not to start than to lose parts of every record.
func TestServerThatTakesTooShortMessages(t *testing.T) {
	s := external(t, t.TempDir(), -1, func(o *server.Options) { o.MaxPayload = minPayload / 2 })
	_, err := Open(testContext(t), Options{URL: s.ClientURL(), Logger: quiet()})
	if err == nil || !strings.Contains(err.Error(), "max_payload") {
		t.Errorf("opened, or failed without saying why: %v", err)
	}
}

// TestHubThatTakesShortMessages: a record that is too large for the hub alone arrives there without some of its parts, and those after it arrive, too.
func TestHubThatTakesShortMessages(t *testing.T) {
	s := external(t, t.TempDir(), -1, func(o *server.Options) { o.MaxPayload = minPayload })
	if _, err := Setup(testContext(t), Options{URL: s.ClientURL(), Logger: quiet(), MaxStore: testStore}, Layout{Hub: true}, false); err != nil {
		t.Fatal(err)
	}
	q := open(t, Options{})
	w, c, r := large("a")
	if err := q.PutWorkload(testContext(t), w); err != nil {
		t.Fatal(err)
	}
	if err := q.AppendReload(testContext(t), r); err != nil {
		t.Fatal(err)
	}
	appendChange(t, q, c, 0)
	appendChange(t, q, change("b", "1"), 0)
	if err := q.PutWorkload(testContext(t), record("b")); err != nil {
		t.Fatal(err)
	}
	forwarding(t, q, s.ClientURL(), "uid", nil)
	at := open(t, Options{URL: s.ClientURL(), Role: RoleHubAdmin})
	for stream, want := range map[string]int{changesStream: 2, reloadsStream: 1, workloadsStream: 2} {
		eventually(t, stream+" to arrive", func() bool { return count(contents(t, at.js, stream)) == want })
	}
}
