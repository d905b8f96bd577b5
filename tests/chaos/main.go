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

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

func main() {
	if natsserver.ServeMember() {
		return
	}
	seed := flag.Uint64("seed", 0, "seed of every choice; 0 is a new one")
	shapes := flag.String("shapes", "serve:2m,roles:26m,ha:3m", "which ones to run, one after the other, each for its time")
	file := flag.String("report", "", "file for the report, besides standard output")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	if err := runAll(ctx, *seed, *shapes, *file); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

// errFaults says that the oracle has found something.
var errFaults = errors.New("something was lost, doubled or stale")

// runAll runs each shape and reports on all of them.
func runAll(ctx context.Context, seed uint64, shapes, file string) error {
	text := fmt.Sprintf("# Chaos\n\n`make chaos CHAOS_SEED=%d CHAOS_SHAPES=%s`, commit %s\n", seed, shapes, line.Commit(ctx))
	fmt.Println(text)
	faults := 0
	for shape := range strings.SplitSeq(shapes, ",") {
		o, err := parseShape(seed, shape)
		if err != nil {
			return err
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

// parseShape returns the run of a shape and its time. In a run of roles that is long enough, Reroll is cut off from NATS.
func parseShape(seed uint64, shape string) (options, error) {
	name, length, _ := strings.Cut(shape, ":")
	o := options{
		Seed: seed, Rate: 80, Others: 2, Configs: 100, Workloads: 200, Window: 200 * time.Millisecond, Sweep: 5 * time.Second,
		KillEvery: 1200 * time.Millisecond, APIServerEvery: 18 * time.Second, Roles: name != "serve", HA: name == "ha",
	}
	var err error
	if o.Time, err = time.ParseDuration(length); err != nil {
		return o, fmt.Errorf("shape %q: %w", shape, err)
	}
	switch name {
	case "serve", "ha":
	case "roles":
		if o.Time >= 20*time.Minute {
			o.Cuts = []time.Duration{time.Minute, 5 * time.Minute}
		} else if o.Time >= 2*time.Minute {
			o.Cuts = []time.Duration{20 * time.Second}
		}
	default:
		return o, fmt.Errorf("there is no shape %q", name)
	}
	return o, nil
}

// report is what a run has come to.
type report struct {
	options options
	// caughtUp is how long after the torment the last missing mark came.
	caughtUp time.Duration
	table    string
	faults   []fault
}

// count returns how many faults are of a kind.
func count(faults []fault, kind string) (n int) {
	for _, f := range faults {
		if f.Kind == kind {
			n++
		}
	}
	return n
}

func (c *course) report(caughtUp time.Duration, faults []fault) report {
	var rows strings.Builder
	add := func(name string, value any) { fmt.Fprintf(&rows, "| %s | %v |\n", name, value) }
	add("configs", len(c.world.configs))
	add("workloads", len(c.world.workloads))
	add("new contents written", c.writer.updates.Load())
	add("edits of a label alone", c.writer.untouched)
	add("deleted and created again as before", c.writer.recreated)
	add("specs of workloads written by somebody else", c.bystander.total())
	add("contents of the workload that reloads without a restart, and calls to its pods", fmt.Sprint(len(c.hot.writes), ", ", c.hot.asked))
	for _, p := range c.rig.programs {
		kills, ends := p.counts()
		add("SIGKILLs of "+p.name+", and ends by itself", fmt.Sprint(kills, ", ", ends))
	}
	add("SIGKILLs and orderly restarts of kube-apiserver", fmt.Sprint(c.tormentor.crashes, ", ", c.tormentor.restarts))
	add("cuts between Reroll and NATS", c.tormentor.cuts)
	p := c.rig.proxy
	add("audit batches at the proxy", p.batches.Load())
	add("batches thrown away, cut off, not taken by ingest, sent once more", fmt.Sprint(p.dropped.Load(), ", ", p.cuts.Load(), ", ", p.refused.Load(), ", ", p.repeats.Load()))
	all, unseen := c.witness.rolls()
	add("template changes, of these counted and not shown by a watch", fmt.Sprint(all, ", ", unseen))
	for _, kind := range []string{lost, doubled, stale} {
		add(kind, count(faults, kind))
	}
	return report{options: c.options, caughtUp: caughtUp, table: rows.String(), faults: faults}
}

// shownFaults bounds how many faults are listed.
const shownFaults = 20

// String returns the report in Markdown.
func (r report) String() string {
	o := r.options
	text := fmt.Sprintf("## %s, seed %d\n\n`debounce.window=%s resyncInterval=%s rolloutLimits.flapLimit=0`; tormented for %s; the last missing mark came %s after it.\n\n| what | count |\n|---|---:|\n%s",
		o.shape(), o.Seed, o.Window, o.Sweep, o.Time, r.caughtUp.Round(100*time.Millisecond), r.table)
	for i, f := range r.faults {
		if i == shownFaults {
			return text + fmt.Sprintf("\n… and %d more.\n", len(r.faults)-i)
		}
		text += fmt.Sprintf("\n* %s: %s: %s", f.Kind, f.Workload, f.Text)
	}
	return text
}
