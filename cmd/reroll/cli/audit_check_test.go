package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// statuses serves a cluster as it is at one look after the other; the last one stays.
func statuses(t *testing.T, looks ...view.Cluster) (url string) {
	t.Helper()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		items := []view.Cluster{}
		if n := int(asked.Add(1)); len(looks) > 0 {
			items = append(items, looks[min(n, len(looks))-1])
		}
		if err := json.NewEncoder(w).Encode(view.List[view.Cluster]{Items: items}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// at is a cluster some seconds after the first look, when the last audit event has come.
func at(seconds, event int, feeds ...reloader.FeedStatus) view.Cluster {
	after := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	return view.Cluster{
		ClusterStatus: reloader.ClusterStatus{Cluster: "local", At: after(seconds), Hearing: reloader.Hearing{
			Feeds: feeds, Sources: []reloader.SourceStatus{{Source: "watch", LastAt: after(seconds)}, {Source: "audit", LastAt: after(event)}},
		}},
		Standing: verdict.Standing{Health: verdict.Healthy},
	}
}

// feed is one of an API server, with how many seconds after the first look the last canary came back.
func feed(address, state string, seconds int) reloader.FeedStatus {
	return reloader.FeedStatus{Address: address, State: state, LastAt: now.Add(time.Duration(seconds) * time.Second)}
}

func TestAuditCheck(t *testing.T) {
	one, two := "https://10.0.0.1:6443", "https://10.0.0.2:6443"
	away := at(0, 0)
	away.Health = verdict.Away
	for name, c := range map[string]struct {
		looks []view.Cluster
		code  int
		// says are in the order in which they are said, each once.
		says []string
	}{
		"a first canary": {
			[]view.Cluster{at(0, 0), at(0, 0, feed(one, "waiting", 0)), at(9, 4, feed(one, "heard", 8))},
			ExitDone,
			[]string{"canary: none has been sent yet", "canary through " + one + ": waiting for it to come back", "it came back", "proven"},
		},
		"a canary that came back before proves nothing": {
			[]view.Cluster{at(0, 9, feed(one, "heard", -20)), at(9, 10, feed(one, "heard", -20)), at(60, 11, feed(one, "heard", 41))},
			ExitDone,
			[]string{"waiting for it to come back", "it came back", "proven"},
		},
		"every API server": {
			[]view.Cluster{at(0, 0, feed(one, "waiting", 0), feed(two, "waiting", 0)), at(9, 1, feed(one, "heard", 8), feed(two, "silent", 0)), at(30, 2, feed(one, "heard", 8), feed(two, "heard", 29))},
			ExitDone,
			[]string{"✗ canary through " + two + ": it was written, and its audit event does not come back", "canary through " + two + ": it came back", "proven"},
		},
		"none comes": {
			[]view.Cluster{at(0, -5, feed(one, "waiting", 0)), at(60, -5, feed(one, "silent", 0))},
			ExitFailed,
			[]string{"does not come back; waiting", "✗ audit events: none has come in since this began", "apiserver_audit_error_total"},
		},
		"others come": {
			[]view.Cluster{at(0, -5, feed(one, "waiting", 0)), at(60, 57, feed(one, "silent", 0))},
			ExitFailed,
			[]string{"! audit events: some arrive, but no canary", "the policy leaves out Reroll's own ConfigMaps or Secrets"},
		},
		"none sent": {[]view.Cluster{at(0, 0), at(30, 0)}, ExitFailed, []string{"✗ canary: none are sent", "→ set ingest.canaryInterval=1m"}},
		"away":      {[]view.Cluster{away}, ExitFailed, []string{"✗ dispatcher: it has published no status lately", "→ reroll check"}},
		"no status": {nil, ExitFailed, []string{"status: waiting for the first status", "✗ dispatcher: it has published no status"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, _, err := run(t, "audit", "check", "--timeout", map[int]string{ExitDone: "2s", ExitFailed: "600ms"}[c.code], "--server", statuses(t, c.looks...))
			if code, _ := ExitCode(err); code != c.code {
				t.Errorf("code %d, want %d: %v", code, c.code, err)
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
