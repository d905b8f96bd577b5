package canary_test

import (
	"bytes"
	"context"
	"errors"
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
	proven  map[reloader.ConfigKind]bool
	options canary.Options
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

// told returns what the log says of each API server, in short.
func (c *cage) told() []string {
	var lines []string
	for line := range strings.Lines(c.log.String()) {
		_, line, _ = strings.Cut(line, "msg=")
		message, rest, _ := strings.Cut(line, " apiserver=")
		address, rest, _ := strings.Cut(rest, " ")
		said := short(strings.Trim(message, `"`)) + " " + strings.TrimSpace(address)
		if strings.HasPrefix(rest, "kind=Secret") {
			said += " Secret"
		}
		lines = append(lines, said)
	}
	return lines
}

func short(said string) string {
	return strings.TrimPrefix(strings.TrimPrefix(said, "the audit feed "), "is ")
}

var errAway = errors.New("connection refused")

// inCage runs a test of a canary that is touched every minute through the API servers a and b. before happens before the first canary.
func inCage(t *testing.T, before string, test func(t *testing.T, c *cage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &cage{
			t: t, addresses: []string{"a", "b"}, refuse: map[string]error{}, mute: map[string]bool{}, unaudited: map[reloader.ConfigKind]bool{},
			proven: map[reloader.ConfigKind]bool{}, r: prometheus.NewRegistry(),
		}
		c.options = canary.Options{
			Interval: time.Minute, Kinds: []reloader.ConfigKind{reloader.ConfigMap}, Servers: c, Registerer: c.r,
			Logger:  slog.New(slog.NewTextHandler(&c.log, nil)),
			Suspect: func(reason string) { c.set(func() { c.suspicions = append(c.suspicions, short(reason)) }) },
		}
		c.do(before)
		c.canary = canary.New(c.options)
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

// states returns how many API servers are heard, silent, refusing, and not set up.
func (c *cage) states() string {
	var counts []string
	for _, state := range []string{"heard", "silent", "refused", "notSetUp"} {
		counts = append(counts, strconv.Itoa(int(c.value("reroll_canary_addresses", state))))
	}
	return strings.Join(counts, " ")
}
