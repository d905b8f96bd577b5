// Command bench measures the whole line on the rig and prints each figure next to a bare loop on the same API server in the same
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
	"ingest":  (*bench).ingest,
	"restart": (*bench).restart,
}

// setting is one way of running the line, and what is measured on it.
type setting struct {
	name    string
	audit   kube.Audit
	window  time.Duration
	measure []string
	flags   []string
}

var settings = []setting{
	{"window 0, audit batches every 20 ms", kube.Audit{BatchMaxWait: 20 * time.Millisecond}, 0, []string{"latency", "fanout", "ingest"}, nil},
	{"window 0, watch instead of audit events", kube.Audit{}, 0, []string{"latency"}, []string{"--source", "watch"}},
	{"restart", kube.Audit{BatchMaxWait: 20 * time.Millisecond}, time.Second, []string{"restart"}, nil},
	{"window 1s (default), audit batches every 20 ms", kube.Audit{BatchMaxWait: 20 * time.Millisecond}, time.Second, []string{"latency"}, nil},
	{"window 0, audit batches every 100 ms, throttled", kube.Audit{BatchMaxWait: 100 * time.Millisecond, Throttle: true}, 0, []string{"latency"}, nil},
	{"window 1s (default), audit batches every 100 ms, throttled", kube.Audit{BatchMaxWait: 100 * time.Millisecond, Throttle: true}, time.Second, []string{"latency"}, nil},
}

// options are how much is measured.
type options struct {
	only      []string
	edits     int
	most      int
	workloads int
}

func main() {
	var o options
	names := "latency,fanout,ingest,restart"
	flag.StringVar(&names, "only", names, "what to measure")
	flag.IntVar(&o.edits, "edits", 100, "single edits for each latency figure")
	flag.IntVar(&o.most, "dependents", 2000, "largest number of dependents of one config")
	flag.IntVar(&o.workloads, "workloads", 5000, "workloads that are there at a start")
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
		if measurements[name] == nil {
			return fmt.Errorf("nothing to measure is called %q", name)
		}
	}
	for _, s := range settings {
		s.measure = slices.DeleteFunc(slices.Clone(s.measure), func(name string) bool { return !slices.Contains(o.only, name) })
		if len(s.measure) == 0 {
			continue
		}
		heading(s.name)
		if err := onLine(ctx, s, o); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
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
	l, err := line.Start(ctx, line.Options{
		Kube:  kube.Options{ControlPlaneOnly: true, Audit: &s.audit},
		Flags: append([]string{"--set", "debounce.window=" + s.window.String(), "--set", "rolloutLimits.flapLimit=0"}, s.flags...),
	})
	if err != nil {
		return err
	}
	defer l.Stop()
	b := &bench{options: o, line: l, client: l.Kube.Client()}
	return b.all(ctx, s.measure)
}
