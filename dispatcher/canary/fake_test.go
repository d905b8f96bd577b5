package canary_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/dispatcher/canary"
	"github.com/reroll-dev/reroll/reloader"
)

// cage is two API servers and what becomes of canaries there.
type cage struct {
	t      *testing.T
	canary *canary.Canary
	log    bytes.Buffer
	r      *prometheus.Registry

	mu        sync.Mutex
	addresses []string
	// lookup is why the addresses cannot be read.
	lookup error
	// refuse has why an API server refuses canaries, and mute those that send no audit events.
	refuse map[string]error
	mute   map[string]bool
	// unaudited has the kinds that the audit policy leaves out.
	unaudited map[reloader.ConfigKind]bool
	// late has the hints of muted API servers, oldest first.
	late       []string
	suspicions []string
	// proven is what is kept with the canaries.
	proven map[reloader.ConfigKind]bool
	// options change those of the canary before it is made.
	options func(o *canary.Options)
}

func (c *cage) CanaryAddresses(context.Context) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.addresses), c.lookup
}

func (c *cage) TouchCanary(_ context.Context, address string, kind reloader.ConfigKind, id string, proven bool) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refuse[address]; err != nil {
		return false, err
	}
	c.proven[kind] = c.proven[kind] || proven
	switch {
	case c.mute[address]:
		c.late = append(c.late, id)
	case !c.unaudited[kind]:
		go c.canary.Heard(reloader.Hint{AuditID: id})
	}
	return c.proven[kind], nil
}

// set changes the world, and pass lets time go by.
func (c *cage) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

func (c *cage) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// value returns a metric, by its name and, if it has one, the value of its label.
func (c *cage) value(name, label string) float64 {
	c.t.Helper()
	families, err := c.r.Gather()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name && (label == "" || m.GetLabel()[0].GetValue() == label) {
				return m.GetGauge().GetValue()
			}
		}
	}
	c.t.Fatalf("no metric %s %s", name, label)
	return 0
}

// told returns the lines of the log without what is like in all.
func (c *cage) told() []string {
	var lines []string
	for line := range strings.Lines(c.log.String()) {
		_, line, _ = strings.Cut(line, "msg=")
		message, rest, _ := strings.Cut(line, " apiserver=")
		address, _, _ := strings.Cut(rest, " ")
		lines = append(lines, strings.Trim(message, `"`)+": "+strings.TrimSpace(address))
	}
	return lines
}

// inCage runs a test of a canary that is touched every minute through the API servers a and b, of an audit feed that has to be there. before
// changes that before the first canary; it may be nil.
func inCage(t *testing.T, before func(c *cage), test func(t *testing.T, c *cage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &cage{
			t: t, addresses: []string{"a", "b"}, refuse: map[string]error{}, mute: map[string]bool{}, unaudited: map[reloader.ConfigKind]bool{},
			proven: map[reloader.ConfigKind]bool{}, r: prometheus.NewRegistry(),
		}
		if before != nil {
			before(c)
		}
		o := canary.Options{
			Interval: time.Minute, Kinds: []reloader.ConfigKind{reloader.ConfigMap}, Servers: c, Registerer: c.r,
			Logger:  slog.New(slog.NewTextHandler(&c.log, nil)),
			Suspect: func(reason string) { c.set(func() { c.suspicions = append(c.suspicions, reason) }) },
		}
		if c.options != nil {
			c.options(&o)
		}
		c.canary = canary.New(o)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { c.canary.Run(ctx) })
		defer func() {
			cancel()
			running.Wait()
		}()
		c.pass(500 * time.Millisecond) // next to the ticks, not on them
		test(t, c)
	})
}

// states returns how many API servers are heard, silent and refusing.
func (c *cage) states() string {
	var counts []string
	for _, state := range []string{"heard", "silent", "refused"} {
		counts = append(counts, strconv.Itoa(int(c.value("reroll_canary_addresses", state))))
	}
	return strings.Join(counts, " ")
}
