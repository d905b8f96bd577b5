package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/api/view"
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

// TestExplainSaysEachThingOnce: steps are questions with answers and times, and what the first line says is not said again.
func TestExplainSaysEachThingOnce(t *testing.T) {
	const reverted = "already runs with the content that the config was reverted to"
	of := view.Verdict{State: "UpToDate", Reason: "Reverted", Message: "The workload runs with the newest content: it " + reverted + " (ConfigMap shop/settings)."}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	x := view.Explanation{
		Workload: view.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "web"}, Config: view.Config{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}, Verdict: of,
		Steps: []view.Step{
			{Question: "Does it ask for the config?", Answer: "Yes", Result: "Passed", Message: "It names the config in its list.", Clause: "reroll.dev/configmaps"},
			{Question: "Does it run with the newest content?", Answer: "Yes", Result: "Passed", Message: "It " + reverted + ".", Reload: "r-1", At: now.Add(-5 * time.Minute)},
		},
	}
	var said strings.Builder
	writeExplanation(newLines(&said, false), x, of, now)
	const want = "shop/Deployment/web and ConfigMap/settings: UpToDate, Reverted\n" +
		"  ✓ Does it ask for the config? Yes. It names the config in its list. reroll.dev/configmaps\n" +
		"  ✓ Does it run with the newest content? Yes (5m ago). r-1\n"
	if said.String() != want {
		t.Errorf("%s\nwant %s", said.String(), want)
	}
}
