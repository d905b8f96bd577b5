package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
)

// watched are the requests whose number is counted.
var watched = map[string][]string{
	"config reads":     {`verb="GET"`, `resource="configmaps"`},
	"workload patches": {`verb="PATCH"`, `resource="deployments"`},
	"workload reads":   {`verb="GET"`, `resource="deployments"`},
	"events":           {`verb="POST"`, `resource="events"`},
}

func (b *bench) requests(ctx context.Context) (map[string]float64, error) {
	counts := map[string]float64{}
	for name, labels := range watched {
		n, err := b.line.Kube.Metric(ctx, "apiserver_request_total", labels...)
		if err != nil {
			return nil, err
		}
		counts[name] = n
	}
	return counts, nil
}

// costs prints the API requests that each reload took.
func (b *bench) costs(ctx context.Context, before map[string]float64, reloads int) error {
	if err := b.idle(ctx); err != nil {
		return err
	}
	after, err := b.requests(ctx)
	if err != nil {
		return err
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(watched)) {
		parts = append(parts, fmt.Sprintf("%.2f %s", (after[name]-before[name])/float64(reloads), name))
	}
	row("  API requests per reload", "%s", strings.Join(parts, ", "))
	return nil
}

// idle waits until Reroll has no more Events to write, so that they do not disturb the bare loop.
func (b *bench) idle(ctx context.Context) error {
	last, since := -1.0, time.Now()
	return line.Poll(ctx, func(ctx context.Context) error {
		n, err := b.line.Kube.Metric(ctx, "apiserver_request_total", `resource="events"`)
		if err != nil {
			return err
		}
		if n != last {
			last, since = n, time.Now()
		}
		if time.Since(since) < time.Second { // Events wait for a pause, and for the records before them
			return fmt.Errorf("events are still written")
		}
		return nil
	})
}
