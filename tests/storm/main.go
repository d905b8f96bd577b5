// Command storm changes very many Secrets at once on a real API server, and watches what Reroll makes of it under a rate limit: each
// workload that depends on them rolls once, never faster than allowed, and what still waits can be seen.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
)

// options say how big a storm is.
type options struct {
	Workloads, Secrets int
	// Bystanders are workloads that opted in, too, and use a ConfigMap that does not change.
	Bystanders int
	// PerMinute is the flag --reloads-per-minute.
	PerMinute int
	// Window is the flag --coalesce-window.
	Window time.Duration
	// SampleEvery is how often progress is taken down.
	SampleEvery time.Duration
}

func main() {
	o := options{Bystanders: 50}
	flag.IntVar(&o.Workloads, "workloads", 2000, "workloads that depend on the Secrets")
	flag.IntVar(&o.Secrets, "secrets", 3000, "Secrets that change at once: one and a half times as many as workloads")
	flag.IntVar(&o.PerMinute, "per-minute", 1200, "the flag --reloads-per-minute")
	flag.DurationVar(&o.Window, "window", time.Second, "the flag --coalesce-window")
	flag.DurationVar(&o.SampleEvery, "sample-every", 10*time.Second, "how often to take down how far it is")
	file := flag.String("report", "", "file for the report, besides standard output")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := report(ctx, o, *file); err != nil {
		fmt.Fprintln(os.Stderr, "storm:", err)
		os.Exit(1)
	}
}

var errFaults = errors.New("there are faults")

func report(ctx context.Context, o options, file string) error {
	r, err := run(ctx, o)
	if err != nil {
		return err
	}
	r.commit = line.Commit(ctx)
	fmt.Println(r)
	if file != "" {
		if err := os.WriteFile(file, []byte(r.String()), 0o644); err != nil {
			return err
		}
	}
	if len(r.faults) > 0 {
		return errFaults
	}
	return nil
}
