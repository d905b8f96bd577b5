package main

import (
	"context"
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
)

// explained bounds how many reloads are told of.
const explained = 12

// explain tells of the reloads of workloads that rolled more than once: what caused each, and when that was known.
func explain(ctx context.Context, l *line.Line, rolls map[string]int64) ([]string, error) {
	reloads, err := l.Reroll.Reloads(ctx, namespace)
	if err != nil {
		return nil, err
	}
	var told []string
	for _, r := range reloads {
		if rolls[r.Workload.Name] < 2 || len(told) == explained {
			continue
		}
		text := fmt.Sprintf("%s was patched at %s for", r.Workload.Name, clock(r.PatchedAt))
		for _, c := range r.Causes {
			text += fmt.Sprintf(" %s (changed %s, received %s, verified %s)", c.Config.Name, clock(c.RequestedAt), clock(c.ReceivedAt), clock(c.VerifiedAt))
		}
		told = append(told, text)
	}
	return told, nil
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }
