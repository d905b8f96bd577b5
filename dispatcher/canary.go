package dispatcher

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/reloader"
)

const (
	// leastDeadline is the shortest time after which a canary is overdue: by default an API server collects audit events for 30 s
	// before it sends them.
	leastDeadline = 40 * time.Second
	// tightened is how often everything is looked at while the feed is silent.
	tightened = time.Minute
	// longestLook bounds the time between two looks at what is overdue.
	longestLook = time.Second
)

// CanaryCage writes the canary: a ConfigMap of our own that nobody uses.
type CanaryCage interface {
	// CanaryAddresses returns where the API servers of the cluster are, at least one, and few.
	CanaryAddresses(ctx context.Context) ([]string, error)
	// TouchCanary writes the canary through the API server at address, in a request with the audit ID id. That a canary has come back is kept
	// with it from the first time on, for later processes, and returned.
	TouchCanary(ctx context.Context, address, id string, proven bool) (everProven bool, err error)
}

// CanaryOptions configure a Canary. All fields but Optional are required.
type CanaryOptions struct {
	// Interval is how often the canary is touched through each API server.
	Interval time.Duration
	Cage     CanaryCage
	// Suspect is told why hints may have been lost.
	Suspect    func(reason string)
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// Optional says that another source reports every change, so that a feed which was never set up is no trouble.
	Optional bool
}

// Canary finds out whether the audit feed works: it touches a ConfigMap through every API server, each of which sends audit events of its
// own, and waits for the hints. It is about the audit feed alone: a touch is known by its audit ID, which no other source tells.
//
// What it promises:
//
//   - An API server that accepts touches of which no hint comes within the deadline, two intervals or 40 s, is silent: that is
//     logged once, with the likely cause, and suspected at once and every minute for as long as it lasts, and when it ends.
//   - A touch that stays away although a later one came back is lost: that is suspected once, and so is an API server that refuses
//     touches for as long as the deadline, or whose address is gone before that.
//   - An optional feed of which no canary has ever come back is not set up, which is logged once and suspected never.
type Canary struct {
	CanaryOptions

	mu   sync.Mutex // guards feed
	feed *feed

	suspected time.Time
}

// NewCanary returns a Canary that touches nothing before Run.
func NewCanary(o CanaryOptions) *Canary {
	c := &Canary{CanaryOptions: o, feed: newFeed(max(2*o.Interval, leastDeadline), o.Optional)}
	c.observe("reroll_canary_age_seconds", "Time since a canary last came back from the API server that has been quiet longest.", nil,
		func(f *feed) float64 { return f.age(time.Now()).Seconds() })
	c.observe("reroll_feed_silent", "Whether some API server accepts canaries of which no audit event comes.", nil,
		func(f *feed) float64 { return float64(min(1, f.count(feedSilent))) })
	for _, state := range feedStates {
		c.observe("reroll_canary_addresses", "API servers, by what canaries have told about their audit events.",
			prometheus.Labels{"state": string(state)}, func(f *feed) float64 { return float64(f.count(state)) })
	}
	return c
}

func (c *Canary) observe(name, help string, labels prometheus.Labels, value func(*feed) float64) {
	c.Registerer.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, func() float64 {
		c.mu.Lock()
		defer c.mu.Unlock()
		return value(c.feed)
	}))
}

// Heard takes note of a hint. Those that are no canaries mean nothing to it.
func (c *Canary) Heard(h reloader.Hint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.feed.heard(h.AuditID, time.Now())
}

// Run sends canaries, and tells what became of them, until ctx ends.
func (c *Canary) Run(ctx context.Context) {
	send, look := time.NewTicker(c.Interval), time.NewTicker(min(c.Interval, longestLook))
	defer send.Stop()
	defer look.Stop()
	c.send(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-send.C:
			c.send(ctx)
		case <-look.C:
			c.look()
		}
	}
}

// send sends one canary through each API server, and waits for the answers.
func (c *Canary) send(ctx context.Context) {
	addresses, err := c.Cage.CanaryAddresses(ctx)
	if err != nil {
		// Where the API servers were is the best guess, and that they do not answer there is told like any refusal.
		addresses = c.known()
		c.Logger.Debug("the addresses of the API servers could not be read", "error", err)
	}
	c.mu.Lock()
	gone := c.feed.keep(addresses)
	c.mu.Unlock()
	for _, address := range gone {
		c.Logger.Info("an API server is gone", "apiserver", address)
	}
	if len(gone) > 0 {
		c.suspect("an API server is gone", time.Now())
	}
	var touches sync.WaitGroup
	defer touches.Wait()
	for _, address := range addresses {
		touches.Go(func() { c.touch(ctx, address) })
	}
}

func (c *Canary) known() (addresses []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for address := range c.feed.perches {
		addresses = append(addresses, address)
	}
	return addresses
}

func (c *Canary) touch(ctx context.Context, address string) {
	id := "reroll-canary-" + rand.Text()
	c.mu.Lock()
	c.feed.sent(address, id, time.Now())
	proven := c.feed.proven
	c.mu.Unlock()
	ever, err := c.Cage.TouchCanary(ctx, address, id, proven)
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.feed.proven = c.feed.proven || ever
	c.feed.answered(address, id, err, time.Now())
}

// look tells what has come to light.
func (c *Canary) look() {
	now := time.Now()
	c.mu.Lock()
	found := c.feed.judge(now)
	silent := c.feed.count(feedSilent) > 0
	c.mu.Unlock()
	for _, f := range found {
		if reason := c.tell(f); reason != "" {
			c.suspect(reason, now)
		}
	}
	if silent && now.Sub(c.suspected) >= tightened {
		c.suspect("the audit feed is silent", now)
	}
}

func (c *Canary) suspect(reason string, now time.Time) {
	c.suspected = now
	c.Suspect(reason)
}

// tell logs f, and returns why changes may have been missed; empty if they cannot have been.
func (c *Canary) tell(f finding) (reason string) {
	log := c.Logger.With("apiserver", f.address)
	if f.lost {
		log.Warn("a canary was lost", "likelyCause", "the API server has dropped a batch of audit events: see apiserver_audit_error_total there")
		reason = "a canary was lost"
	}
	switch {
	case f.to == f.from:
	case f.to == feedNotSetUp:
		log.Info("the audit feed is not set up", "author", "the field manager of the config")
	case f.to == feedSilent:
		log.Warn("the audit feed is silent", "likelyCause", silenceCause(f.ever))
		reason = "the audit feed is silent"
	case f.to == feedRefused:
		log.Warn("the canary is refused", "error", f.refusal, "likelyCause",
			"the API server is away or cannot be reached from here, or patch of ConfigMap reroll-canary is not granted")
		reason = "an API server refuses the canary"
	case f.to == feedHeard && (f.from == feedWaiting || f.from == feedNotSetUp):
		log.Info("the audit feed works")
	case f.to == feedHeard:
		log.Info("the audit feed is back")
		reason = "the audit feed is back"
	}
	return reason
}

// silenceCause says what mostly silences a feed from which canaries have come back before, or never have.
func silenceCause(ever bool) string {
	if ever {
		return "the API server cannot reach the ingest any more: network, certificate, URL; see apiserver_audit_error_total there"
	}
	return "the API server has no --audit-webhook-config-file for this cluster name, or an audit policy without ConfigMaps of Reroll's namespace"
}
