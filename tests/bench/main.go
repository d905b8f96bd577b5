// Command bench measures the whole line on the rig and prints each figure beside a bare loop on the same API server in the same
// run. The machines it runs on are shared: read the ratios, not the milliseconds.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// longest bounds a whole run.
const longest = 45 * time.Minute

// setting is one way of running the line.
type setting struct {
	name   string
	audit  kube.Audit
	window time.Duration
}

var settings = []setting{
	{"window 0, audit batches every 20 ms", kube.Audit{BatchMaxWait: 20 * time.Millisecond}, 0},
	{"window 1s (default), audit batches every 20 ms", kube.Audit{BatchMaxWait: 20 * time.Millisecond}, time.Second},
	{"window 0, audit batches every 100 ms, throttled", kube.Audit{BatchMaxWait: 100 * time.Millisecond, Throttle: true}, 0},
	{"window 1s (default), audit batches every 100 ms, throttled", kube.Audit{BatchMaxWait: 100 * time.Millisecond, Throttle: true}, time.Second},
}

func main() {
	edits := flag.Int("edits", 100, "single edits for each latency figure")
	most := flag.Int("dependents", 2000, "largest number of dependents of one config")
	configs := flag.Int("configs", 3000, "ConfigMaps, and as many Secrets, for the memory figure")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if err := run(ctx, *edits, *most, *configs); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, edits, most, configs int) error {
	for i, s := range settings {
		heading(s.name)
		err := onLine(ctx, s, func(b *bench) error {
			if err := b.latency(ctx, edits); err != nil {
				return fmt.Errorf("latency: %w", err)
			}
			if i > 0 {
				return nil
			}
			for _, dependents := range []int{60, 500, 2000} {
				if dependents > most {
					continue
				}
				if err := b.fanOut(ctx, dependents); err != nil {
					return fmt.Errorf("fan-out to %d: %w", dependents, err)
				}
			}
			return b.memory(ctx, configs)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func onLine(ctx context.Context, s setting, measure func(*bench) error) error {
	l, err := line.Start(ctx, line.Options{
		Kube:  kube.Options{ControlPlaneOnly: true, Audit: &s.audit},
		Flags: []string{"--coalesce-window", s.window.String(), "--log-level", "warn", "--flap-limit", "0"},
	})
	if err != nil {
		return err
	}
	defer l.Stop()
	return measure(&bench{line: l, client: l.Kube.Client()})
}

func heading(text string) { fmt.Printf("\n== %s\n", text) }

func row(what string, format string, arguments ...any) {
	fmt.Printf("   %-44s %s\n", what, fmt.Sprintf(format, arguments...))
}
