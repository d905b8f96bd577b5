// Package canary finds out whether the audit feed works. It writes an object of its own through every API server, one of each kind of config
// that must be covered, and waits for the hints: an API server sends audit events of its own, and an audit policy may leave out one kind.
//
// Promises, for each API server and kind:
//
//   - An API server that accepts canaries while no hint of them comes within the deadline, two intervals or 40 s, is silent. That is logged
//     once with the likely cause, reported as suspicious at once and every minute while it lasts, and once more when it ends.
//   - A canary that stays away although a later one came back is lost. That is reported once, and so is an API server that refuses
//     canaries for as long as the deadline, or whose address goes away before that.
//   - An optional feed that has never returned a canary is not set up. That is logged once and never reported as suspicious.
//
// It needs Servers, which writes the canaries, and every hint that comes in (Heard). It calls Suspect when hints may have been lost.
package canary

import (
	"context"
	"crypto/rand"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/reloader"
)

const (
	// minDeadline is the shortest time after which a canary is overdue: by default an API server collects audit events for 30 s
	// before it sends them.
	minDeadline = 40 * time.Second
	// suspectInterval is the time between two suspicions while a feed is silent.
	suspectInterval = time.Minute
	// maxCheckInterval bounds the time between two checks for overdue canaries.
	maxCheckInterval = time.Second
)

// Servers writes canaries through the API servers of the cluster.
type Servers interface {
	// CanaryAddresses returns the addresses of the API servers: at least one, and few.
	CanaryAddresses(ctx context.Context) ([]string, error)
	// TouchCanary writes the canary of a kind through the API server at address, in a request with the audit ID id. The canary keeps the first
	// proven that is true for later processes, and TouchCanary returns what is kept.
	TouchCanary(ctx context.Context, address string, kind reloader.ConfigKind, id string, proven bool) (everProven bool, err error)
}

// Options configure a Canary. All fields but News and Optional are required.
type Options struct {
	// Interval is the time between two canaries of one kind through one API server.
	Interval time.Duration
	// Kinds are the kinds of configs whose audit events must come in.
	Kinds   []reloader.ConfigKind
	Servers Servers
	// Suspect gets the reason why hints may have been lost.
	Suspect    func(reason string)
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// News is called when the state of some feed has changed, if it is not nil.
	News func()
	// Optional says that another source reports every change, so that a feed that was never set up is not a problem.
	Optional bool
}

// Canary writes canaries and waits for their hints. It recognizes a hint by its audit ID, which other sources do not report.
type Canary struct {
	Options

	mu sync.Mutex // guards each of feeds
	// feeds has the state of the feed by kind; New fills it.
	feeds map[reloader.ConfigKind]*feed

	// addresses are those of the API servers when they could be read last, and suspected is when suspect was called last. Run alone uses them.
	addresses []string
	suspected time.Time
}

// New returns a Canary that writes nothing before Run.
func New(o Options) *Canary {
	c := &Canary{Options: o, feeds: map[reloader.ConfigKind]*feed{}}
	for _, kind := range o.Kinds {
		c.feeds[kind] = &feed{deadline: max(2*o.Interval, minDeadline), optional: o.Optional, servers: map[string]*server{}}
	}
	c.observe("reroll_canary_age_seconds", "Time since a canary last came back from the API server that has been quiet longest.", nil,
		func() float64 { return c.age(time.Now()).Seconds() })
	c.observe("reroll_feed_silent", "Whether some API server accepts canaries and sends no audit event for them.", nil,
		func() float64 { return float64(min(1, c.count(silent))) })
	for _, s := range states {
		c.observe("reroll_canary_addresses", "API servers, by what canaries have told about their audit events.",
			prometheus.Labels{"state": string(s)}, func() float64 { return float64(c.count(s)) })
	}
	return c
}

// observe registers a gauge whose value is computed under mu.
func (c *Canary) observe(name, help string, labels prometheus.Labels, value func() float64) {
	c.Registerer.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, func() float64 {
		c.mu.Lock()
		defer c.mu.Unlock()
		return value()
	}))
}

// age returns for how long the quietest API server has sent no canary of some kind back; 0 if none was sent.
func (c *Canary) age(now time.Time) (oldest time.Duration) {
	for _, f := range c.feeds {
		for _, s := range f.servers {
			oldest = max(oldest, now.Sub(reloader.Later(s.first, s.returned)))
		}
	}
	return oldest
}

// count returns the number of API servers in a state; see worst.
func (c *Canary) count(s state) (n int) {
	for _, found := range c.worst() {
		if found.State == string(s) {
			n++
		}
	}
	return n
}

// worst returns, by address, the state of the kind that needs most attention; of those in one state, that of the kind that is quiet longest.
func (c *Canary) worst() map[string]reloader.FeedStatus {
	found := map[string]reloader.FeedStatus{}
	for _, f := range c.feeds {
		for address, s := range f.servers {
			known, ok := found[address]
			order := slices.Index(states, s.state) - slices.Index(states, state(known.State))
			if !ok || order < 0 || order == 0 && s.returned.Before(known.LastAt) {
				found[address] = reloader.FeedStatus{Address: address, State: string(s.state), LastAt: s.returned}
			}
		}
	}
	return found
}

// Status returns the state of the feed from every API server, sorted by address.
func (c *Canary) Status() []reloader.FeedStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	var feeds []reloader.FeedStatus
	found := c.worst()
	for _, address := range slices.Sorted(maps.Keys(found)) {
		status := found[address]
		for _, kind := range slices.Sorted(maps.Keys(c.feeds)) {
			if s := c.feeds[kind].servers[address]; s != nil && s.state != heard {
				status.Quiet = append(status.Quiet, kind)
			}
		}
		feeds = append(feeds, status)
	}
	return feeds
}

// Heard takes a hint that came in. It ignores hints that no canary caused.
func (c *Canary) Heard(h reloader.Hint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.feeds {
		f.heard(h.AuditID, time.Now())
	}
}

// Run writes canaries, and reports what became of them, until ctx ends.
func (c *Canary) Run(ctx context.Context) {
	send, check := time.NewTicker(c.Interval), time.NewTicker(min(c.Interval, maxCheckInterval))
	defer send.Stop()
	defer check.Stop()
	c.send(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-send.C:
			c.send(ctx)
		case <-check.C:
			c.check()
		}
	}
}

// send writes a canary of each kind through each API server, and waits for the answers.
func (c *Canary) send(ctx context.Context) {
	addresses, err := c.Servers.CanaryAddresses(ctx)
	if err == nil {
		c.addresses = addresses
	} else {
		// The addresses of before are the best guess. If the API servers do not answer there, that is reported like any refusal.
		c.Logger.Debug("the addresses of the API servers could not be read", "error", err)
	}
	if gone := c.keep(); len(gone) > 0 {
		for _, address := range gone {
			c.Logger.Info("an API server is gone", "apiserver", address)
		}
		c.suspect("an API server is gone", time.Now())
	}
	var touches sync.WaitGroup
	defer touches.Wait()
	for _, address := range c.addresses {
		for _, kind := range c.Kinds {
			touches.Go(func() { c.touch(ctx, address, kind) })
		}
	}
}

// keep forgets the API servers that are not at one of the addresses any more, and returns, sorted, those that may have held audit events when they went.
// One that refused canaries was reported before.
func (c *Canary) keep() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	gone := map[string]bool{}
	for _, f := range c.feeds {
		maps.DeleteFunc(f.servers, func(address string, s *server) bool {
			left := !slices.Contains(c.addresses, address)
			if left && s.state != refused {
				gone[address] = true
			}
			return left
		})
	}
	return slices.Sorted(maps.Keys(gone))
}

func (c *Canary) touch(ctx context.Context, address string, kind reloader.ConfigKind) {
	id := "reroll-canary-" + rand.Text()
	f := c.feeds[kind]
	c.mu.Lock()
	f.sent(address, id, time.Now())
	proven := f.proven
	c.mu.Unlock()
	ever, err := c.Servers.TouchCanary(ctx, address, kind, id, proven)
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f.proven = f.proven || ever
	f.answered(address, id, err, time.Now())
}

// check reports what has come to light since it was last called.
func (c *Canary) check() {
	now := time.Now()
	for _, kind := range c.Kinds {
		c.mu.Lock()
		found := c.feeds[kind].judge(now)
		c.mu.Unlock()
		for _, f := range found {
			if f.from != f.state && c.News != nil {
				c.News()
			}
			if reason := c.report(kind, f); reason != "" {
				c.suspect(reason, now)
			}
		}
	}
	c.mu.Lock()
	isSilent := c.count(silent) > 0
	c.mu.Unlock()
	if isSilent && now.Sub(c.suspected) >= suspectInterval {
		c.suspect("the audit feed is silent", now)
	}
}

func (c *Canary) suspect(reason string, now time.Time) {
	c.suspected = now
	c.Suspect(reason)
}
