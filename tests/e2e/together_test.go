//go:build nightly

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// actors are two users who take turns.
var actors = []string{"alice@example.com", "bob@example.com"}

// TestAllSourcesTogether has a process hear of each write from the audit webhook, from the API server's log as a shipper posts it, late and
// several times, and from a watch; and sweep all the time. Whatever comes first, each content rolls once, is one change, and is the doing of who wrote it.
func TestAllSourcesTogether(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit.log")
	l := ownLine(t, line.Options{
		Kube:  kube.Options{Audit: &kube.Audit{}, APIServerFlags: []string{"--audit-log-path=" + log}},
		Flags: []string{"--source", "auto", "--set", "resyncInterval=2s", "--set", "debounce.window=" + window.String()},
	})
	r := line.NewRoom(t, l)
	lines := func() []string {
		content, err := os.ReadFile(log)
		r.Must(err)
		all := strings.Split(string(content), "\n")
		return all[:len(all)-1]
	}
	// ship posts lines in batches, each twice, as who has not seen the answer does.
	ship := func(lines []string) {
		t.Helper()
		for batch := range slices.Chunk(lines, 40) {
			for range 2 {
				code, err := l.Ship(t.Context(), "application/x-ndjson", []byte(strings.Join(batch, "\n")+"\n"))
				r.Must(err)
				if code != http.StatusNoContent {
					t.Fatalf("%d lines are answered with %d", len(batch), code)
				}
			}
		}
	}
	r.Config("app", "start")
	r.Deploy("web", line.Auto, line.FromConfigMap("app"))
	r.Baselines("web", 1)
	ship(lines()) // who created it was told of before anybody depended on it, and may come again next to the first edit
	r.Quiet()
	var want []string
	shipped := len(lines())
	for n := range 4 {
		author, now := actors[n%len(actors)], len(lines())
		r.Kubectl("patch", "configmap/app", "--as="+author, "--as-group=system:masters", "-p", fmt.Sprintf(`{"data":{"k":"%d"}}`, n))
		r.Rolled("web", n+1)
		want = append(want, author+" true")
		ship(lines()[shipped:now]) // what was logged of the round before
		shipped = now
	}
	ship(lines()) // all of it again
	r.Rolled("web", len(want))
	for _, reload := range r.Reloads("web", len(want)) {
		if reload.Outcome != "Reloaded" || len(reload.Causes) != 1 {
			t.Errorf("%+v", reload)
		}
	}
	r.Await("changes with their authors", func(ctx context.Context) error {
		changes, err := l.Reroll.Changes(ctx, r.NS)
		var authors []string
		for _, c := range slices.Backward(changes) {
			if c.Type == "Updated" {
				var who []string
				for _, candidate := range c.Candidates {
					who = append(who, fmt.Sprint(candidate.User, " ", candidate.Sure))
				}
				authors = append(authors, strings.Join(slices.Compact(who), " or "))
			}
		}
		if err == nil && !slices.Equal(authors, want) {
			err = fmt.Errorf("changes by %q, want %q", authors, want)
		}
		return err
	})
	for _, source := range []string{"audit", "shipped"} {
		if n, err := l.Reroll.Metric(t.Context(), "reroll_ingest_event_age_seconds_count", `source="`+source+`"`); err != nil || n == 0 {
			t.Errorf("%v events of the source %s, %v", n, source, err)
		}
	}
	if n, err := l.Reroll.Metric(t.Context(), "reroll_sweep_drift_total"); err != nil || n != 0 {
		t.Errorf("the sweep found %v changes of which no source told, %v", n, err)
	}
}
