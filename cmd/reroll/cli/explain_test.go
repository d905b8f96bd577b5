package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// TestExplainBeginsWithTheVerdict: the first line has the state, the sentence and the next command, also where no config is left to explain.
func TestExplainBeginsWithTheVerdict(t *testing.T) {
	const verdict = `{"verdict":{"state":"NoConfigs","message":"shop/Deployment/web asks for no config.","next":"kubectl annotate"},"explanations":[],"warnings":[]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := verdict
		if r.URL.Path == "/api/v1/clusters" {
			body = `{"items":[{"name":"local"}]}`
		}
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	const want = "NoConfigs: shop/Deployment/web asks for no config. Next: kubectl annotate\n"
	if said, _, err := command(t, explainCommand("test"), "shop/deploy/web", "--server", server.URL); err != nil || said != want {
		t.Errorf("%v\n%s\nwant %s", err, said, want)
	}
	said, _, err := command(t, explainCommand("test"), "shop/deploy/web", "--server", server.URL, "-o", "json")
	if err != nil || !strings.Contains(said, `"state": "NoConfigs"`) {
		t.Errorf("%v: the record for programs lacks the verdict: %s", err, said)
	}
}

// TestServerAway: whoever has no Reroll at the default address reads how else to reach one.
func TestServerAway(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	_, _, err := command(t, explainCommand("test"), "shop/deploy/web", "--server", server.URL)
	if err == nil || !strings.HasPrefix(Say(err), "cannot reach Reroll at "+server.URL) || !strings.Contains(Say(err), "Set --context for the Reroll of a cluster") {
		t.Errorf("%v", err)
	}
}

// TestExplainSaysEachThingOnce: a config has one line, and what the first line says is not said again.
func TestExplainSaysEachThingOnce(t *testing.T) {
	of := verdict.Verdict{State: "UpToDate", Reason: "AlreadyCurrent", Message: "The workload runs with the newest content."}
	settings := reloader.Config{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	w := view.Workload{WorkloadRecord: reloader.WorkloadRecord{
		Workload: reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "web"},
		Edges:    []reloader.Edge{{Config: settings, Why: "Named", Clause: "reroll.dev/configmaps"}},
	}}
	change := &reloader.Change{ID: "c-1", Type: "Updated", VerifiedAt: now.Add(-5 * time.Minute), Candidates: []reloader.Candidate{{Actor: reloader.Actor{User: "alice"}, Basis: "OnlyWriter"}}}
	missing := verdict.Verdict{State: "MissingConfig", Message: "Secret tools/key does not exist."}
	var said strings.Builder
	l := newLines(&said, false)
	writeExplanation(l, w, view.Explanation{Config: settings, Verdict: of, Change: change}, of, now)
	writeExplanation(l, w, view.Explanation{Config: reloader.Config{Kind: "Secret", Namespace: "tools", Name: "key"}, Verdict: missing}, of, now)
	const want = "  ConfigMap/settings: UpToDate Named reroll.dev/configmaps. Updated 5m ago by alice, c-1.\n" +
		"  tools/Secret/key: MissingConfig: Secret tools/key does not exist.\n"
	if said.String() != want {
		t.Errorf("%s\nwant %s", said.String(), want)
	}
}
