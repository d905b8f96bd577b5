// Command tenant runs one namespace of workloads that are made to hurt next to many ordinary ones, on a real API server with the real
// binary. It shows what the hostile tenant costs the others, against a control run in the same cluster before the tenant comes.
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

// options set the size of a run.
type options struct {
	// Ordinary is the number of ordinary workloads, spread over Namespaces.
	Ordinary, Namespaces int
	// Crowd is the number of ConfigMaps, and of Secrets, that globs and selectors of the tenant match.
	Crowd int
	// Names is the number of names in a long list.
	Names int
	// Keys is the number of keys in a wide ConfigMap.
	Keys int
	// Only, if set, is a regular expression for the tricks to play.
	Only string
	// Pace is the time between two edits of ordinary configs.
	Pace time.Duration
	// Patience bounds each wait for something that takes seconds at most in a cluster without a tenant.
	Patience time.Duration
	// Timed judges how long it all takes, which says something on a quiet machine alone.
	Timed bool
	// Binary is the program; empty builds it from the sources.
	Binary string
}

// full is the run of make hostile.
func full() options {
	return options{Ordinary: 200, Namespaces: 10, Crowd: 5000, Names: 50_000, Keys: 13_000, Pace: 50 * time.Millisecond, Patience: time.Minute, Timed: true}
}

// short is the run of TestTenant: all tricks, next to fewer ordinary workloads and fewer configs.
func short() options {
	o := full()
	o.Ordinary, o.Namespaces, o.Crowd, o.Patience, o.Timed = 40, 5, 1200, 5*time.Minute, false
	return o
}

func main() {
	o := full()
	flag.IntVar(&o.Ordinary, "ordinary", o.Ordinary, "ordinary workloads")
	flag.IntVar(&o.Crowd, "crowd", o.Crowd, "ConfigMaps, and Secrets, that globs and selectors of the tenant match")
	flag.StringVar(&o.Only, "only", "", "regular expression for the hostile workloads to create (default: all)")
	flag.StringVar(&o.Binary, "binary", "", "program to run (default: built from the sources)")
	file := flag.String("report", "", "file for the report, in addition to standard output")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := report(ctx, o, *file); err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(1)
	}
}

var errFaults = errors.New("there are faults")

func report(ctx context.Context, o options, file string) error {
	r, err := run(ctx, o, func(step string) { fmt.Fprintln(os.Stderr, time.Now().Format(time.TimeOnly), step) })
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
