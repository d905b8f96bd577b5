// Command bench measures the whole line on the rig and prints each figure beside a bare loop on the same API server in the same
// run. The machines it runs on are shared: read the ratios, not the milliseconds.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// longest bounds a whole run.
const longest = 45 * time.Minute

// measurements are what can be measured, by the names that -only takes.
var measurements = map[string]func(*bench, context.Context) error{
	"latency": (*bench).latency,
	"fanout":  (*bench).fanOuts,
	"memory":  (*bench).memory,
	"ingest":  (*bench).ingest,
	"api":     (*bench).api,
	"sizing":  (*bench).sizing,
}

// fleetMeasurements are those of a hub and its clusters, which run lines of their own.
var fleetMeasurements = map[string]func(context.Context, options) error{
	"hub":     hubRate,
	"catchup": catchUp,
	"follow":  followHop,
}

// setting is one way of running the line, and what is measured on it.
type setting struct {
	name    string
	audit   kube.Audit
	window  time.Duration
	measure []string
	// apart says that what is measured starts all that it needs: there is no line.
	apart bool
}

var settings = []setting{
	{"window 0, audit batches every 20 ms", kube.Audit{BatchMaxWait: 20 * time.Millisecond}, 0, []string{"latency", "fanout", "memory"}, false},
	{"window 1s (default), audit batches every 20 ms", kube.Audit{BatchMaxWait: 20 * time.Millisecond}, time.Second, []string{"latency"}, false},
	{"window 0, audit batches every 100 ms, throttled", kube.Audit{BatchMaxWait: 100 * time.Millisecond, Throttle: true}, 0, []string{"latency"}, false},
	{"window 1s (default), audit batches every 100 ms, throttled", kube.Audit{BatchMaxWait: 100 * time.Millisecond, Throttle: true}, time.Second, []string{"latency"}, false},
	{"many events at ingest", kube.Audit{}, time.Second, []string{"ingest"}, false},
	{"what a thousand of each take", kube.Audit{}, time.Second, []string{"sizing"}, false},
	{"many questions", kube.Audit{}, 0, []string{"api"}, true},
}

// options are how much is measured.
type options struct {
	only    []string
	edits   int
	most    int
	configs int
	rate    int
	time    time.Duration
	reloads int
	asks    int
	clients int
}

func main() {
	if serveHub() {
		return
	}
	var o options
	names := "latency,fanout,memory,ingest,sizing,api,hub,catchup,follow"
	flag.StringVar(&names, "only", names, "what to measure")
	flag.IntVar(&o.edits, "edits", 100, "single edits for each latency figure")
	flag.IntVar(&o.most, "dependents", 2000, "largest number of dependents of one config")
	flag.IntVar(&o.configs, "configs", 3000, "ConfigMaps, and as many Secrets, for the memory figure")
	flag.IntVar(&o.rate, "events", 4000, "events per second for the ingest figure")
	flag.DurationVar(&o.time, "time", time.Minute, "how long to send them")
	flag.IntVar(&o.reloads, "reloads", 20_000, "reloads on record for the api figures")
	flag.IntVar(&o.asks, "asks", 200, "how often each question is asked for them")
	flag.IntVar(&o.clients, "clients", 500, "streams of events for them")
	flag.Parse()
	o.only = strings.Split(names, ",")
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	for _, name := range o.only {
		if measurements[name] == nil && fleetMeasurements[name] == nil {
			return fmt.Errorf("nothing to measure is called %q", name)
		}
	}
	for _, s := range settings {
		s.measure = slices.DeleteFunc(slices.Clone(s.measure), func(name string) bool { return !slices.Contains(o.only, name) })
		if len(s.measure) == 0 {
			continue
		}
		heading(s.name)
		if err := measure(ctx, s, o); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	for _, name := range o.only {
		if measure := fleetMeasurements[name]; measure != nil {
			heading(name)
			if err := measure(ctx, o); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

func measure(ctx context.Context, s setting, o options) error {
	if !s.apart {
		return onLine(ctx, s, o)
	}
	return (&bench{options: o}).all(ctx, s.measure)
}

// all measures one thing after the other.
func (b *bench) all(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := measurements[name](b, ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func onLine(ctx context.Context, s setting, o options) error {
	senders, err := newTokens()
	if err != nil {
		return err
	}
	defer senders.remove()
	l, err := line.Start(ctx, line.Options{
		Kube:  kube.Options{ControlPlaneOnly: true, Audit: &s.audit},
		Flags: []string{"--coalesce-window", s.window.String(), "--flap-limit", "0", "--ingest-token-file", senders.file},
	})
	if err != nil {
		return err
	}
	defer l.Stop()
	b := &bench{options: o, line: l, client: l.Kube.Client(), token: senders.token}
	return b.all(ctx, s.measure)
}
