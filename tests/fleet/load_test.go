package fleet

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
)

// load edits the configs of all clusters, in each one after the other, until it is told to end and each has had its updates. A config is edited
// again when its workload has been rolled for the edit before, so that each edit is a roll, however busy the machine is.
type load struct {
	enough chan struct{}
	done   chan error
	// made counts the edits of each cluster.
	made map[string]*atomic.Int64
}

func newLoad(ctx context.Context, fleet map[string]*cluster) *load {
	l := &load{enough: make(chan struct{}), done: make(chan error, len(fleet)), made: map[string]*atomic.Int64{}}
	for name := range fleet {
		l.made[name] = &atomic.Int64{}
	}
	for name, c := range fleet {
		go func() { l.done <- c.load(ctx, l.enough, l.made[name]) }()
	}
	return l
}

// slower is by how much the pace goes down when there were as many updates as there had to be: a cluster keeps only so many of each config.
const slower = 5

func (c *cluster) load(ctx context.Context, enough <-chan struct{}, made *atomic.Int64) error {
	every := max(time.Millisecond, cutTime/time.Duration(updates))
	pace := time.NewTicker(every)
	defer pace.Stop()
	for n := 0; ; n++ {
		if n == updates {
			pace.Reset(slower * every)
		}
		over := enough
		if n < updates {
			over = nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			return nil
		case <-pace.C:
		}
		name := app(n % spread)
		err := line.Poll(ctx, func(ctx context.Context) error { return c.rolledTo(ctx, name, int64(n/spread)) })
		if err == nil {
			err = c.give(ctx, name, fmt.Sprint(n+1), nil)
		}
		if err != nil {
			return err
		}
		made.Add(1)
	}
}

// during does something, and fails the test unless configs are edited in every cluster meanwhile.
func (l *load) during(ctx context.Context, t *testing.T, do func() error) {
	t.Helper()
	before := map[string]int64{}
	for name, made := range l.made {
		before[name] = made.Load()
	}
	must(t, do())
	for name, made := range l.made {
		must(t, line.Poll(ctx, func(context.Context) error {
			if len(l.done) > 0 {
				return line.Stop(fmt.Errorf("%s: the load has ended: %w", name, <-l.done))
			}
			if made.Load() == before[name] {
				return fmt.Errorf("nothing is edited in %s", name)
			}
			return nil
		}))
	}
}

// end has the edits end, and waits for the last.
func (l *load) end(t *testing.T) {
	t.Helper()
	close(l.enough)
	for range l.made {
		must(t, <-l.done)
	}
}

func app(i int) string { return fmt.Sprint("app-", i) }

// deployAll deploys what the load edits.
func (c *cluster) deployAll(ctx context.Context) {
	c.t.Helper()
	for i := range spread {
		c.deploy(ctx, app(i), map[string]string{"reloader.stakater.com/auto": "true"})
	}
}

// rolledForEach fails the test unless each workload was rolled once for each edit of its config.
func rolledForEach(ctx context.Context, t *testing.T, c *cluster, l *load) {
	t.Helper()
	edits := l.made[c.name].Load()
	for i := range int64(spread) {
		want := edits / spread
		if i < edits%spread {
			want++
		}
		c.waitRolls(ctx, app(int(i)), want)
		if n := c.rolls(ctx, app(int(i))); n != want {
			t.Errorf("%s in %s rolled %d times for %d edits", app(int(i)), c.name, n, want)
		}
	}
}
