package canary_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/reroll-dev/reroll/dispatcher/canary"
	"github.com/reroll-dev/reroll/reloader"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCanary lets things happen to the canaries of two API servers, which are touched each minute and lost after two. What the log tells of each,
// and for which reasons the sweep must look, are in order; those of an optional feed are sorted.
func TestCanary(t *testing.T) {
	const work = "works a, works b"
	for name, tc := range map[string]struct {
		reason          string
		before, steps   string // see cage.do
		told, suspected string
		states          string // heard, silent, refused, not set up
		age             time.Duration
		says            string // is in the log
	}{
		"works":  {"canaries that come back are told of once", "", "1h", work, "", "2 0 0 0", 0, ""},
		"silent": {"a feed that stops is silent once the first lost canary is, and swept for every minute", "", "1m; mute a b; 5m", work + ", silent a, silent b", "silent, silent, silent, silent", "0 2 0 0", 5 * time.Minute, "cannot reach the ingest any more"},
		"one of two": {
			"each API server sends its own events", "", "1m; mute b; 3m", work + ", silent b", "silent", "1 1 0 0", 3 * time.Minute, "",
		},
		"back":                     {"it is told of once, and swept for once more", "", "1m; mute b; 3m; hear b; 30s; late; 1h", work + ", silent b, back b", "silent, back", "2 0 0 0", 0, ""},
		"one lost":                 {"one lost batch is no silence, but events were in it", "", "mute b; 1m; hear b; 1h", work + ", a canary was lost b", "a canary was lost", "2 0 0 0", 0, ""},
		"refused":                  {"it may have lost events when it went; that it stays away says no more", "", "1m; refuse a; 10m", work + ", the canary is refused a", "an API server refuses the canary", "1 0 1 0", 10 * time.Minute, ""},
		"gone":                     {"it may have had events that it sends no more", "", "mute b; 90s; remove b; 1h", work + ", an API server is gone b", "an API server is gone", "1 0 0 0", 0, ""},
		"addresses cannot be read": {"those of before are the best guess", "", "1m; unlisted; 1h", work, "", "2 0 0 0", 0, ""},
		"never worked": {
			"the cause is another one", "remove b", "10m; mute new; add new; 190s", "works a, silent new", "silent", "1 1 0 0", 2 * time.Minute, "no --audit-webhook-config-file",
		},
		"never set up":                {"that is news and no trouble", "optional; mute a b", "1h", "not set up a, not set up b", "", "0 0 0 2", -1, ""},
		"set up later":                {"what stayed away before is not lost", "optional; mute a b", "1h; hear a b; 1h", "not set up a, not set up b, " + work, "", "2 0 0 0", 0, ""},
		"set up at one of two":        {"once one sends events, the other one is missed", "optional; mute a b", "1h; hear a; 4m", "not set up a, not set up b, silent b, works a", "silent, silent", "1 1 0 0", -1, ""},
		"proven to a process before":  {"a restart does not make a broken feed one that was never there", "optional; mute a b; proven", "3m", "silent a, silent b", "silent, silent, silent", "0 2 0 0", -1, ""},
		"no Secrets in the policy":    {"the Secret canary alone is silent, and the cause names the policy", "unaudited", "3m", work + ", silent a Secret, silent b Secret", "silent, silent, silent", "0 2 0 0", -1, `leaves out Secrets`},
		"no Secrets, and it may lack": {"for Secrets it counts as not set up", "optional; unaudited", "1h", "not set up a Secret, not set up b Secret, " + work, "", "2 0 0 0", -1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inCage(t, tc.before, func(t *testing.T, c *cage) {
				c.do(tc.steps)
				told := c.told()
				if strings.HasPrefix(tc.before, "optional") {
					slices.Sort(told)
				}
				var silent, heard float64
				if _, err := fmt.Sscan(tc.states, &heard, &silent); err != nil {
					t.Fatal(err)
				}
				for what, is := range map[string][2]string{
					"log": {strings.Join(told, ", "), tc.told}, "suspicions": {strings.Join(c.suspicions, ", "), tc.suspected}, "states": {c.states(), tc.states},
					"silent": {fmt.Sprint(c.value("reroll_feed_silent", "")), fmt.Sprint(min(1, silent))},
				} {
					if is[0] != is[1] {
						t.Errorf("%s: %q, want %q: %s", what, is[0], is[1], tc.reason)
					}
				}
				if age := c.value("reroll_canary_age_seconds", ""); tc.age >= 0 && (age < tc.age.Seconds() || age > (tc.age+time.Minute).Seconds()) {
					t.Errorf("age %v s, want %s or up to a minute more: %s", age, tc.age, tc.reason)
				}
				if log := c.log.String(); !strings.Contains(log, tc.says) || strings.HasPrefix(tc.before, "optional") && strings.Contains(log, "level=WARN") != (silent > 0) {
					t.Errorf("%s: log\n%s", tc.reason, log)
				}
				for _, f := range c.canary.Status() {
					if number := float64(len(c.addresses)); heard == number && f.State != "heard" || number > 0 && silent == number && f.State != "silent" {
						t.Errorf("the feed from %s is %s", f.Address, f.State)
					}
				}
			})
		})
	}
}

// do lets time go by, or has something happen to API servers: steps are durations, verbs with names, and others, after semicolons.
func (c *cage) do(steps string) {
	c.t.Helper()
	for step := range strings.SplitSeq(steps, "; ") {
		words := strings.Fields(step)
		if len(words) == 0 {
			continue
		}
		if d, err := time.ParseDuration(step); err == nil {
			c.pass(d)
			continue
		}
		if words[0] == "late" { // the event of the last canary that stayed away comes
			c.canary.Heard(reloader.Hint{AuditID: c.late[len(c.late)-1]})
			continue
		}
		c.set(func() { c.happens(words[0], words[1:]) })
	}
}

func (c *cage) happens(verb string, names []string) {
	switch verb {
	case "optional":
		c.options.Optional = true
	case "unaudited":
		c.unaudited[reloader.Secret] = true
		c.options.Kinds = []reloader.ConfigKind{reloader.ConfigMap, reloader.Secret}
	case "proven":
		c.proven[reloader.ConfigMap] = true
	case "unlisted":
		c.addresses, c.lookup = nil, errAway
	default:
		for _, name := range names {
			switch verb {
			case "mute", "hear":
				c.mute[name] = verb == "mute"
			case "refuse":
				c.refuse[name] = errAway
			case "add":
				c.addresses = append(c.addresses, name)
			case "remove":
				c.addresses = slices.DeleteFunc(c.addresses, func(a string) bool { return a == name })
			default:
				c.t.Fatalf("what is %q?", verb)
			}
		}
	}
}

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
