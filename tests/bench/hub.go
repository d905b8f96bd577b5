package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/tests/line"
)

const (
	// hubClusters bring records, each over hubWriters of its own connection at a time.
	hubClusters, hubWriters = 50, 4
	// hubReloads are the dependents of each config.
	hubReloads = 5
	// hubTime is how long each load lasts.
	hubTime = 12 * time.Second
	// hubPaced is how many records a second a thousand clusters bring on paper: see docs/fleet.md.
	hubPaced = 340
)

// hubRate measures what a hub takes from many clusters, as forwarders bring it: each record is stored behind the last one of its object, and the next
// one of the object is sent when it is. Meanwhile `reroll api` answers for all of them.
func hubRate(ctx context.Context, _ options) error {
	h, err := startHub(ctx)
	if err != nil {
		return err
	}
	defer h.stop()
	api, err := h.api(ctx)
	if err != nil {
		return err
	}
	if err := line.Poll(ctx, func(ctx context.Context) error { return api.get(ctx, "/api/v1/clusters", &struct{}{}) }); err != nil {
		return err
	}
	if err := h.memory("NATS, nothing stored", "the API, nothing stored"); err != nil {
		return err
	}
	for _, load := range []struct {
		name      string
		perSecond int
	}{
		{fmt.Sprintf("%d clusters, %d records a second (1,000 clusters on paper)", hubClusters, hubPaced), hubPaced},
		{fmt.Sprintf("%d clusters, %d records on their way at any time", hubClusters, hubClusters*hubWriters), 0},
	} {
		heading(load.name)
		if err := h.load(ctx, api, load.perSecond); err != nil {
			return err
		}
		if err := h.memory("NATS", "the API"); err != nil {
			return err
		}
	}
	return nil
}

// sent are the records that were stored, and how long each took.
type sent struct {
	mu   sync.Mutex
	took []time.Duration
}

func (s *sent) add(took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took = append(s.took, took)
}

// load brings records for hubTime, at a pace or as fast as they are taken if that is 0, and prints how they were taken.
func (h *hub) load(ctx context.Context, api hubAPI, perSecond int) error {
	var all sent
	g, gctx := errgroup.WithContext(ctx)
	start := time.Now()
	until := start.Add(hubTime)
	for c := range hubClusters {
		nc, err := nats.Connect(h.url)
		if err != nil {
			return err
		}
		defer nc.Close()
		js, err := jetstream.New(nc)
		if err != nil {
			return err
		}
		for n := range hubWriters {
			w := &hubWriter{js: js, cluster: fmt.Sprintf("c%d", c), object: fmt.Sprintf("app-%d-%d", n, perSecond), sent: &all, last: map[string]uint64{}}
			if perSecond > 0 {
				w.every = time.Second * hubClusters * hubWriters / time.Duration(perSecond)
				w.start = start.Add(w.every * time.Duration(c*hubWriters+n) / (hubClusters * hubWriters))
			}
			g.Go(func() error { return w.write(gctx, until) })
		}
	}
	var seen []time.Duration
	g.Go(func() (err error) {
		seen, err = h.probe(gctx, api, until, perSecond)
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	row("records taken, a change and five reloads in turn", "%.0f a second", float64(len(all.took))/time.Since(start).Seconds())
	row("  until a record is on the hub's disk", "%s", percentiles(all.took))
	row("  until the API answers with it, looked at every 25 ms", "%s", percentiles(seen))
	return nil
}

// probe stores a change now and then, and returns how long it took each time until the API had it in its answer.
func (h *hub) probe(ctx context.Context, api hubAPI, end time.Time, perSecond int) ([]time.Duration, error) {
	w := &hubWriter{js: h.js, cluster: "probe", object: fmt.Sprint("probe-", perSecond), last: map[string]uint64{}}
	var seen []time.Duration
	for ; time.Now().Before(end); w.n++ {
		start := time.Now()
		id, err := w.putChange(ctx)
		if err != nil {
			return nil, err
		}
		if err := api.await(ctx, w.cluster, id); err != nil {
			return nil, err
		}
		seen = append(seen, time.Since(start))
		if !until(ctx, start.Add(200*time.Millisecond)) {
			return nil, ctx.Err()
		}
	}
	return seen, nil
}

// await asks for the newest change of a cluster until it is that one. The API answers 50 requests a second.
func (a hubAPI) await(ctx context.Context, cluster, id string) error {
	for {
		next := time.Now().Add(25 * time.Millisecond)
		var page struct {
			Items []struct{ ID string }
		}
		if err := a.get(ctx, "/api/v1/changes?limit=1&cluster="+cluster, &page); err != nil {
			return err
		}
		if len(page.Items) > 0 && page.Items[0].ID == id {
			return nil
		}
		if !until(ctx, next) {
			return ctx.Err()
		}
	}
}

func (a hubAPI) get(ctx context.Context, path string, answer any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(answer)
}
