//go:build nightly

package thousand

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/api"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/port"
)

// groups is how many links there are: each carries one in a hundred of the members.
const groups = 100

// fleet are the members of a hub, and the links that carry them.
type fleet struct {
	*world
	all   []*member
	links []*port.Link
}

// TestThousand: with many members, of which some are always cut off or restarted and a tenth is cut off for minutes, the hub has every record once.
func TestThousand(t *testing.T) {
	_, err := line.Build(t.Context())
	line.Must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	f := newFleet(ctx, t)
	began := time.Now()
	line.Must(t, each(ctx, f.all, func(ctx context.Context, m *member) error { return m.fill(ctx) }))
	t.Logf("%d members have stored their first records after %s", members, since(began))
	began = time.Now()
	for i, m := range f.all {
		m.join(ctx, f.owner(i).name)
		t.Cleanup(func() { m.end() })
	}
	f.complete(ctx, t)
	first := f.count(f.all)
	t.Logf("all join: %d records were at the hub after %s, %.0f a second", first, since(began), float64(first)/time.Since(began).Seconds())

	running, stop := context.WithCancel(ctx)
	working, now := errgroup.WithContext(running)
	for _, m := range f.all {
		working.Go(func() error { return m.work(now) })
		working.Go(func() error { return m.report(now) })
	}
	tenth := len(f.links) / 10
	working.Go(func() error { return f.disturb(now, tenth) })
	working.Go(func() error { return f.comeAndGo(now) })
	working.Go(func() error { return f.ask(now, t) })
	working.Go(func() error {
		for pause(now, 30*time.Second) {
			runtime.GC() // nats.go leaves connections that broke before their first answer, and their files, to the collector
		}
		return nil
	})
	f.cut(0, tenth, true)
	pause(now, cutTime)
	f.memory(t)
	stop()
	line.Must(t, working.Wait())
	began = time.Now()
	f.cut(0, tenth, false)
	f.complete(ctx, t)
	t.Logf("everything was at the hub %s after a tenth had been cut off for %s", since(began), cutTime)
	t.Logf("%.0f records a second while configs changed", float64(f.count(nil)-first)/cutTime.Seconds())
	f.judge(t)
}

func newFleet(ctx context.Context, t *testing.T) *fleet {
	t.Helper()
	f := &fleet{newWorld(ctx, t, members), make([]*member, members), make([]*port.Link, min(groups, members))}
	urls := make([]string, len(f.links))
	for i := range f.links {
		f.links[i] = &port.Link{}
		t.Cleanup(f.links[i].Stop)
		for _, address := range f.Addresses {
			at, err := f.links[i].Carry("127.0.0.1:0", address)
			line.Must(t, err)
			urls[i] += ",nats://" + at
		}
	}
	for i := range f.all {
		m, err := f.newMember(ctx, clusterName(i), strings.TrimPrefix(urls[i%len(urls)], ","))
		line.Must(t, err)
		f.all[i] = m
		t.Cleanup(func() { _ = m.queue.Close(context.WithoutCancel(ctx)) }) // what it stored was counted
	}
	return f
}

// owner is the member of which another one follows a config.
func (f *fleet) owner(i int) *member { return f.all[(i+1)%len(f.all)] }

func since(t time.Time) time.Duration { return time.Since(t).Round(time.Millisecond) }

// complete waits until everything is at the hub and with those who follow it.
func (f *fleet) complete(ctx context.Context, t *testing.T) {
	t.Helper()
	for i, m := range f.all {
		line.Must(t, line.Poll(ctx, func(context.Context) error {
			owner := f.owner(i)
			owner.mu.Lock()
			newest := owner.newest.ID
			owner.mu.Unlock()
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.copied != newest {
				return fmt.Errorf("%s follows a config of %s, and has %q of it, not %q", m.name, owner.name, m.copied, newest)
			}
			return f.lacks(m)
		}))
	}
}

// cut cuts links, or fixes them.
func (f *fleet) cut(from, to int, cut bool) {
	for i, m := range f.all {
		if link := i % len(f.links); link >= from && link < to {
			if m.calm.Store(0); !cut {
				m.calm.Store(time.Now().Add(settleTime).UnixNano())
			}
		}
	}
	for _, l := range f.links[from:to] {
		l.Set(cut)
	}
}

// disturb cuts one link after the other for some seconds, except for the first ones.
func (f *fleet) disturb(ctx context.Context, except int) error {
	for going := true; going; {
		i := except + rand.IntN(len(f.links)-except)
		f.cut(i, i+1, true)
		going = pause(ctx, 10*time.Second)
		f.cut(i, i+1, false)
	}
	return nil
}

// comeAndGo has one member after the other end and come back.
func (f *fleet) comeAndGo(ctx context.Context) error {
	for pause(ctx, time.Second) {
		i := rand.IntN(len(f.all))
		if f.all[i].calm.Swap(0) == 0 {
			continue // it is cut off
		}
		f.all[i].end()
		pause(ctx, 2*time.Second)
		f.all[i].join(context.WithoutCancel(ctx), f.owner(i).name)
	}
	return nil
}

// apiGoal is within which 95 of 100 answers of an operation should come.
const apiGoal = 50 * time.Millisecond

// ask asks the API until ctx ends, and logs how long the answers of each operation took.
func (f *fleet) ask(ctx context.Context, t *testing.T) error {
	asks := []string{"/clusters?limit=500", "/self", "/stats", "/changes", "/reloads", "/workloads?limit=500", "/workloads/c000/shop/Deployment/web-0", impact}
	single := map[string]string{"/changes/ID": "/changes", "/reloads/ID": "/reloads"} // one of a list: the newest, since older ones make room
	asks = append(asks, slices.Sorted(maps.Keys(single))...)
	took := map[string][]time.Duration{}
	for i := 0; pause(ctx, 100*time.Millisecond); i++ {
		path := asks[i%len(asks)]
		at := path
		if list := single[path]; list != "" {
			id, err := f.newest(ctx, list)
			if ctx.Err() != nil {
				break
			}
			if err != nil {
				return err
			}
			at = list + "/" + id
		}
		began := time.Now()
		if err := f.answers(ctx, at); err != nil && ctx.Err() == nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		took[path] = append(took[path], time.Since(began))
	}
	for _, path := range asks {
		p95 := line.Percentile(took[path], .95)
		t.Logf("%s: p50 %s, p95 %s of %d; within %s: %v", path, line.Percentile(took[path], .50), p95, len(took[path]), apiGoal, p95 <= apiGoal)
	}
	return nil
}

// newest returns the ID of the first item of a list, once there is one.
func (f *fleet) newest(ctx context.Context, list string) (id string, err error) {
	err = line.Poll(ctx, func(ctx context.Context) error {
		var page struct{ Items []struct{ ID string } }
		if err := f.api.Get(ctx, "/api/v1"+list+"?limit=1", &page); err != nil || len(page.Items) == 0 {
			return fmt.Errorf("%s is empty: %w", list, err)
		}
		id = page.Items[0].ID
		return nil
	})
	return id, err
}

// impact is the path of the operation that is asked by POST.
const impact = "/impact"

// answers returns nil if the API answers. The impact is that of all configs of a merge request, and names the workload of each.
func (f *fleet) answers(ctx context.Context, path string) error {
	if path != impact {
		return f.api.Get(ctx, "/api/v1"+path, nil) // what a client makes of it is not the API's time
	}
	var question api.ImpactQuestion
	for n := range 20 {
		c := config(2 * n)
		question.Configs = append(question.Configs, api.SupposedChange{Cluster: f.all[0].name, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name})
	}
	var answer struct {
		Items []struct{ Workloads []json.RawMessage }
	}
	if err := f.api.Post(ctx, "/api/v1"+path, question, &answer); err != nil {
		return err
	}
	asking := 0
	for _, item := range answer.Items {
		asking += len(item.Workloads)
	}
	if asking != len(question.Configs) {
		return fmt.Errorf("%d workloads ask for %d configs", asking, len(question.Configs))
	}
	return nil
}
