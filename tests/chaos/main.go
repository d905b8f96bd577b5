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
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
)

func main() {
	if serveNATS() {
		return
	}
	o := options{KeepLogs: true}
	flag.Uint64Var(&o.Seed, "seed", 0, "seed of every choice; 0 is a new one")
	flag.DurationVar(&o.Time, "time", 20*time.Minute, "how long to torment, all shapes that have no time of their own together")
	flag.IntVar(&o.Updates, "updates", 1000000, "new contents at most, in each shape")
	flag.Float64Var(&o.Rate, "rate", 80, "new contents per second, as far as the API server takes them")
	flag.Float64Var(&o.Others, "others", 2, "edits of workloads' specs by somebody else per second")
	flag.IntVar(&o.Configs, "configs", 100, "ConfigMaps and Secrets, an even number")
	flag.IntVar(&o.Workloads, "workloads", 200, "workloads")
	flag.DurationVar(&o.Window, "window", 200*time.Millisecond, "debounce.window")
	flag.DurationVar(&o.Sweep, "sweep", 5*time.Second, "resyncInterval")
	flag.DurationVar(&o.KillEvery, "kill-every", 1200*time.Millisecond, "mean time between two kills; 0 is none")
	flag.DurationVar(&o.APIServerEvery, "apiserver-every", 18*time.Second, "mean time between two ends of the API server; 0 is none")
	flag.StringVar(&o.Binary, "binary", "", "the reroll to torment; default: that of the sources")
	shapes := flag.String("shapes", "serve,roles,ha", "which ones to run, one after the other, each for its share of the time, or for its own, as in roles:30m")
	file := flag.String("report", "", "file for the report, besides standard output")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	if err := runAll(ctx, o, *shapes, *file); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

// errFaults says that the oracle has found something.
var errFaults = errors.New("something was lost, doubled or stale")

// runAll runs each shape and reports on all of them.
func runAll(ctx context.Context, o options, list, file string) error {
	runs, err := parseShapes(o, list)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("# Chaos\n\n`make chaos CHAOS_SEED=%d CHAOS_TIME=%s CHAOS_SHAPES=%s`, %s\n", o.Seed, o.Time, list, o.sources(ctx))
	fmt.Println(text)
	faults := 0
	for _, o := range runs {
		r, err := run(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", o.shape(), err)
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

// sources says what is tormented.
func (o options) sources(ctx context.Context) string {
	if o.Binary != "" {
		return "of the binary " + filepath.Base(o.Binary)
	}
	return "commit " + line.Commit(ctx)
}

// parseShapes returns the run of each shape in a list.
func parseShapes(o options, list string) ([]options, error) {
	shapes := strings.Split(list, ",")
	var runs []options
	for _, shape := range shapes {
		name, own, timed := strings.Cut(shape, ":")
		run := o
		run.Time = o.Time / time.Duration(len(shapes))
		if timed {
			var err error
			if run.Time, err = time.ParseDuration(own); err != nil {
				return nil, fmt.Errorf("shape %q: %w", shape, err)
			}
		}
		switch name {
		case "serve":
		case "roles":
			run.Roles = true
			run.demand()
		case "ha":
			run.Roles, run.HA = true, true
		default:
			return nil, fmt.Errorf("there is no shape %q", name)
		}
		runs = append(runs, run)
	}
	return runs, nil
}

const (
	// fullTime is from which a run of the shape roles is the full one, which must have seen enough.
	fullTime = 20 * time.Minute
	// cutTime is from which there is time for a cut.
	cutTime, shortCut = 2 * time.Minute, 20 * time.Second
)

// demand says what a run must see that is as long as this one.
func (o *options) demand() {
	switch {
	case o.Time >= fullTime:
		o.Least = least{Kills: 200, Restarts: 50, Updates: 20000}
		o.Cuts = []time.Duration{time.Minute, 5 * time.Minute}
	case o.Time >= cutTime:
		o.Cuts = []time.Duration{shortCut}
	}
}
