// Command chaos torments Reroll on a real API server, and counts what was lost and what was done twice.
//
// Updates go to ConfigMaps and Secrets while processes are killed, the API server is restarted, and a proxy between it and ingest
// throws audit batches away, repeats them and changes their order. In the end, when all is quiet, an oracle that reads the API
// server alone compares what each workload's template went through with what its configs held.
//
// The seed, which is printed, repeats every choice; it cannot repeat the timing of processes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	if serveNATS() {
		return
	}
	o := options{KeepLogs: true}
	flag.Uint64Var(&o.Seed, "seed", 0, "seed of every choice; 0 is a new one")
	flag.DurationVar(&o.Time, "time", 20*time.Minute, "how long to torment")
	flag.IntVar(&o.Updates, "updates", 20000, "new contents at most")
	flag.Float64Var(&o.Rate, "rate", 20, "new contents per second")
	flag.IntVar(&o.Configs, "configs", 100, "ConfigMaps and Secrets, an even number")
	flag.IntVar(&o.Workloads, "workloads", 200, "workloads")
	flag.DurationVar(&o.Window, "window", 200*time.Millisecond, "the flag --coalesce-window")
	flag.DurationVar(&o.Sweep, "sweep", 5*time.Second, "the flag --sweep-interval")
	flag.DurationVar(&o.KillEvery, "kill-every", 1200*time.Millisecond, "mean time between two kills; 0 is none")
	flag.DurationVar(&o.APIServerEvery, "apiserver-every", 20*time.Second, "mean time between two ends of the API server; 0 is none")
	flag.StringVar(&o.Binary, "binary", "", "the reroll to torment; default: that of the sources")
	shapes := flag.String("shapes", "serve,roles,ha", "which ones to run, one after the other, each for its share of the time")
	file := flag.String("report", "", "file for the report, besides standard output")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	if err := runAll(ctx, o, strings.Split(*shapes, ","), *file); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

// errFaults says that the oracle has found something.
var errFaults = errors.New("something was lost, doubled or stale")

// runAll runs each shape and reports on all of them.
func runAll(ctx context.Context, o options, shapes []string, file string) error {
	total, updates := o.Time, o.Updates
	text := "# Chaos\n\n`" + strings.Join([]string{
		"make chaos", fmt.Sprintf("CHAOS_SEED=%d", o.Seed), "CHAOS_TIME=" + total.String(), "CHAOS_SHAPES=" + strings.Join(shapes, ","),
	}, " ") + "`\n"
	fmt.Println(text)
	faults := 0
	for _, shape := range shapes {
		o.Time, o.Updates = total/time.Duration(len(shapes)), updates/len(shapes)
		switch shape {
		case "serve":
			o.Roles, o.HA = false, false
		case "roles":
			o.Roles, o.HA = true, false
		case "ha":
			o.Roles, o.HA = true, true
		default:
			return fmt.Errorf("there is no shape %q", shape)
		}
		r, err := run(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", shape, err)
		}
		fmt.Println(r)
		text += "\n" + r.String()
		faults += len(r.faults)
	}
	if file != "" {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if faults > 0 {
		return errFaults
	}
	return nil
}
