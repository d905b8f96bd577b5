package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestExplainBeginsWithTheVerdict: the first line has the state, the sentence and the next command, also where no config is left to explain.
func TestExplainBeginsWithTheVerdict(t *testing.T) {
	const verdict = `{"verdict":{"state":"NotOptedIn","message":"shop/Deployment/web is not opted in.","next":"kubectl annotate"},"items":[],"metadata":{},"warnings":[]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := verdict
		if r.URL.Path == "/api/v1/clusters" {
			body = `{"items":[{"name":"local"}]}`
		}
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	const want = "NotOptedIn: shop/Deployment/web is not opted in. Next: kubectl annotate\n"
	if said, _, err := command(t, explainCommand("test"), "shop/deploy/web", "--server", server.URL); err != nil || said != want {
		t.Errorf("%v\n%s\nwant %s", err, said, want)
	}
	said, _, err := command(t, explainCommand("test"), "shop/deploy/web", "--server", server.URL, "-o", "json")
	if err != nil || !strings.Contains(said, `"state": "NotOptedIn"`) {
		t.Errorf("%v: the record for programs lacks the verdict: %s", err, said)
	}
}

// TestServerAway: whoever has no Reroll at the default address reads how else to reach one.
func TestServerAway(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	_, _, err := command(t, explainCommand("test"), "shop/deploy/web", "--server", server.URL)
	if err == nil || !strings.HasPrefix(Say(err), "cannot reach Reroll at "+server.URL) || !strings.Contains(Say(err), "add --context NAME") {
		t.Errorf("%v", err)
	}
}
