package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// statuses serves a cluster as it is at one look after the other; the last one stays. over is closed once that was seen twice.
func statuses(t *testing.T, looks ...view.Cluster) (url string, over <-chan struct{}) {
	t.Helper()
	var asked atomic.Int64
	end := make(chan struct{})
	last := sync.OnceFunc(func() { close(end) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/clusters" {
			t.Errorf("asked for %s", r.URL)
		}
		items := []view.Cluster{}
		n := int(asked.Add(1))
		if len(looks) > 0 {
			items = append(items, looks[min(n, len(looks))-1])
		}
		if n > len(looks)+1 {
			last()
		}
		body, err := json.Marshal(map[string]any{"items": items, "warnings": []string{}})
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	return server.URL, end
}

// at is a cluster some seconds after the first look.
func at(seconds int, hints int64, feeds ...reloader.FeedStatus) view.Cluster {
	when := now.Add(time.Duration(seconds) * time.Second)
	return view.Cluster{
		ClusterStatus: reloader.ClusterStatus{
			Cluster: "local",
			Version: "v1.2.3",
			At:      when,
			Hearing: reloader.Hearing{Feeds: feeds, Sources: []reloader.SourceStatus{{Source: "watch", Hints: 3, LastAt: when}, {Source: "audit", Hints: hints, LastAt: when}}},
		},
		Standing: verdict.Standing{Health: verdict.Healthy},
	}
}

// feed is one of an API server, with how many seconds after the first look the last canary came back.
func feed(address, state string, seconds int) reloader.FeedStatus {
	return reloader.FeedStatus{Address: address, State: state, LastAt: now.Add(time.Duration(seconds) * time.Second)}
}

// check runs the command, and returns what it prints and the code that it ends with. Its time is over when over is closed.
func check(ctx context.Context, t *testing.T, over <-chan struct{}, args ...string) (out string, code int) {
	t.Helper()
	bound := func(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		go func() {
			select {
			case <-over:
				cancel()
			case <-ctx.Done():
			}
		}()
		return ctx, cancel
	}
	out, _, err := runOnly(ctx, func(g *globals) *cobra.Command {
		return (&auditCheck{globals: g, pause: time.Millisecond, bound: bound}).command()
	}, args...)
	code, tell := ExitCode(err)
	if tell {
		out += err.Error()
	}
	return out, code
}

func TestAuditCheck(t *testing.T) {
	one, two := "https://10.0.0.1:6443", "https://10.0.0.2:6443"
	away := at(0, 0)
	away.Health = verdict.Away
	for name, c := range map[string]struct {
		looks []view.Cluster
		args  string
		code  int
		// says are in the order in which they are said, each once.
		says []string
	}{
		"a first canary": {
			[]view.Cluster{at(0, 0), at(0, 0, feed(one, "waiting", 0)), at(9, 4, feed(one, "heard", 8))},
			"", ExitDone,
			[]string{"cluster local: its dispatcher runs version v1.2.3", "canary: none has been sent yet", "canary through " + one + ": none has come back yet", "audit events: they come in", "it came back", "proven"},
		},
		"a canary that came back before proves nothing": {
			[]view.Cluster{at(0, 9, feed(one, "heard", -20)), at(9, 10, feed(one, "heard", -20)), at(60, 11, feed(one, "heard", 41))},
			"", ExitDone,
			[]string{"one came back at 2026-", "it came back", "proven"},
		},
		"every API server": {
			[]view.Cluster{at(0, 0, feed(one, "waiting", 0), feed(two, "waiting", 0)), at(9, 1, feed(one, "heard", 8), feed(two, "silent", 0)), at(30, 2, feed(one, "heard", 8), feed(two, "heard", 29))},
			"", ExitDone,
			[]string{"✗ canary through " + two + ": it was written, and its audit event does not come back", "canary through " + two + ": it came back", "proven"},
		},
		"none comes": {
			[]view.Cluster{at(0, 5, feed(one, "waiting", 0)), at(60, 5, feed(one, "silent", 0))},
			"", ExitFailed,
			[]string{"does not come back; waiting", "✗ audit events: none has come in since this began", "apiserver_audit_error_total"},
		},
		"others come": {
			[]view.Cluster{at(0, 5, feed(one, "waiting", 0)), at(60, 7, feed(one, "silent", 0))},
			"--reroll-namespace ops", ExitFailed,
			[]string{"! audit events: some arrive, but no canary", "the policy leaves out Reroll's own ConfigMaps or Secrets"},
		},
		"none sent": {[]view.Cluster{at(0, 0), at(30, 0)}, "", ExitFailed, []string{"✗ canary: none are sent", "→ set ingest.canaryInterval=1m"}},
		"away":      {[]view.Cluster{away}, "", ExitFailed, []string{"✗ dispatcher: it has published no status lately", "→ reroll check"}},
		"no status": {nil, "", ExitFailed, []string{"status: waiting for the first status", "✗ dispatcher: it has published no status"}},
	} {
		t.Run(name, func(t *testing.T) {
			server, over := statuses(t, c.looks...)
			out, code := check(t.Context(), t, over, append(strings.Fields(c.args), "--server", server)...)
			if code != c.code {
				t.Errorf("code %d, want %d", code, c.code)
			}
			rest := out
			for _, said := range c.says {
				i := strings.Index(rest, said)
				if i < 0 {
					t.Fatalf("%q is not said, or not in this order:\n%s", said, out)
				}
				rest = rest[i+len(said):]
			}
			for _, line := range strings.Split(out, "\n") {
				if line != "" && strings.Count(out, line+"\n") > 1 {
					t.Errorf("%q is said twice", line)
				}
			}
		})
	}
}
