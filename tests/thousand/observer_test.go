//go:build nightly

package thousand

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/tests/line"
)

// observer reads the streams of a hub.
type observer struct {
	mu sync.Mutex
	// seen are the records of the history of each cluster by their IDs, and states when each workload's record was made.
	seen   map[string]map[string]bool
	states map[string]time.Time
	// told is how many records are missing by the word of the positions.
	told    map[string]uint64
	doubled []string
	records int
	// lags are how long records took that were made while a member was calm.
	lags []time.Duration
	calm map[string]*atomic.Int64
}

func observe(ctx context.Context, t *testing.T, as queue.Options) *observer {
	t.Helper()
	o := &observer{seen: map[string]map[string]bool{}, states: map[string]time.Time{}, told: map[string]uint64{}, calm: map[string]*atomic.Int64{}}
	c, err := queue.Dial(as)
	line.Must(t, err)
	ctx, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	for _, stream := range []string{queue.HistoryStream, queue.StateStream} {
		reading.Go(func() {
			for after := uint64(0); ctx.Err() == nil; pause(ctx, time.Second) { // servers are killed
				after = o.read(ctx, t, c, stream, after)
			}
		})
	}
	t.Cleanup(func() { cancel(); reading.Wait(); c.NATS.Close() })
	return o
}

// read notes what follows until something is wrong, and returns up to where.
func (o *observer) read(ctx context.Context, t *testing.T, c *queue.Conn, stream string, after uint64) uint64 {
	tail, err := c.Tail(ctx, stream, after)
	if err != nil {
		return after
	}
	defer tail.Close()
	for {
		m, err := tail.Next(ctx)
		if err != nil {
			return after
		}
		if err := o.take(m); err != nil {
			t.Errorf("%s: %v", m.Subject, err)
		}
		after = m.Sequence
	}
}

func (o *observer) take(m queue.Stored) error {
	var r struct {
		ID                               string
		VerifiedAt, DecidedAt, UpdatedAt time.Time
		Gaps                             []reloader.Gap
	}
	if err := json.Unmarshal(m.Data, &r); err != nil {
		return err
	}
	tokens := strings.SplitN(m.Subject, ".", 4)
	kind, cluster := tokens[1], tokens[2]
	o.mu.Lock()
	defer o.mu.Unlock()
	made := r.VerifiedAt
	switch kind {
	case "at":
		o.told[cluster] = 0
		for _, g := range r.Gaps {
			o.told[cluster] += g.Records
		}
		return nil
	case "workload":
		made, o.states[cluster+"."+tokens[3]] = r.UpdatedAt, r.UpdatedAt
	case "change", "reload":
		if r.DecidedAt.After(made) {
			made = r.DecidedAt
		}
		if o.seen[cluster] == nil {
			o.seen[cluster] = map[string]bool{}
		}
		if o.seen[cluster][r.ID] {
			o.doubled = append(o.doubled, cluster+" "+r.ID)
		}
		o.seen[cluster][r.ID] = true
	default:
		return nil
	}
	o.records++
	if calm := o.calm[cluster]; calm != nil && calm.Load() > 0 && made.UnixNano() > calm.Load() {
		o.lags = append(o.lags, m.At.Sub(made))
	}
	return nil
}

// count has the lags of members count from now on, and returns how many records there are.
func (o *observer) count(of []*member) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range of {
		o.calm[m.name] = &m.calm
	}
	return o.records
}

// lacks returns an error if the hub lacks records of a cluster, more than it tells.
func (o *observer) lacks(m *member) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	missing := uint64(0)
	for _, id := range m.made {
		if !o.seen[m.name][id] {
			missing++
		}
	}
	if missing > o.told[m.name] {
		return fmt.Errorf("%d of %d records of %s are missing at the hub, and it tells of %d", missing, len(m.made), m.name, o.told[m.name])
	}
	for name, at := range m.states {
		if !o.states[m.name+"."+name].Equal(at) {
			return fmt.Errorf("the newest record of %s in %s is missing at the hub", name, m.name)
		}
	}
	return nil
}

// judge fails the test if the hub has anything twice.
func (o *observer) judge(t *testing.T) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.doubled) > 0 {
		t.Errorf("%d records are doubled at the hub, such as %s", len(o.doubled), o.doubled[0])
	}
	t.Logf("%d records at the hub, 0 missing without a told gap, %d doubled; lag p50 %s, p99 %s of %d",
		o.records, len(o.doubled), line.Percentile(o.lags, .50), line.Percentile(o.lags, .99), len(o.lags))
}
