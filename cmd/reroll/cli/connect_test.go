package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestServer: --server wins over the environment, the environment over the kubeconfig; without any, as in a pod, it is the loopback.
func TestServer(t *testing.T) {
	address := func(g globals) (string, error) {
		s, err := g.open(t.Context(), Root("v1.2.3"))
		if err != nil {
			return "", err
		}
		return s.base.String(), nil
	}
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte("current-context: east\n"), 0o600); err != nil { // with nothing of that name
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
	if _, err := address(globals{}); err == nil || !strings.Contains(err.Error(), "through the cluster: kubeconfig") {
		t.Errorf("with a kubeconfig: %v", err)
	}
	t.Setenv(serverVariable, "reroll.example:8080/prefix/")
	if _, err := address(globals{context: "west"}); err == nil || !strings.Contains(err.Error(), `"west" does not exist`) {
		t.Errorf("with a context: %v", err)
	}
	if got, err := address(globals{}); err != nil || got != "http://reroll.example:8080/prefix" {
		t.Errorf("from the environment: %s, %v", got, err)
	}
	if got, err := address(globals{server: "https://other/?a=b#c"}); err != nil || got != "https://other" {
		t.Errorf("with the flag: %s, %v", got, err)
	}
	t.Setenv(serverVariable, "")
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	if got, err := address(globals{}); err != nil || got != defaultServer {
		t.Errorf("without a kubeconfig: %s, %v", got, err)
	}
	for _, wrong := range []string{"ftp://x", "http://", "http://[", "://"} {
		if _, err := address(globals{server: wrong}); err == nil {
			t.Errorf("%q is taken for an address", wrong)
		}
	}
}

// TestToken: the token goes over TLS to a trusted server, or to this machine.
func TestToken(t *testing.T) {
	var asked http.Header
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header
		if r.URL.Path == "/api/v1/redirect" {
			http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
			return
		}
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(server.Close)
	t.Setenv(tokenVariable, "abc\n")
	g := &globals{version: "v1.2.3"}
	c, err := g.client(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.get(t.Context(), "/api/v1/self", nil); err == nil || asked != nil {
		t.Errorf("a server that nobody vouches for was asked with %v: %v", asked, err)
	}
	c.http = server.Client()
	c.http.CheckRedirect = func() func(*http.Request, []*http.Request) error {
		c, _ := g.client(server.URL)
		return c.http.CheckRedirect
	}()
	if _, err := c.get(t.Context(), "/api/v1/self", nil); err != nil || asked.Get("Authorization") != "Bearer abc" || asked.Get("User-Agent") != "reroll/v1.2.3" {
		t.Errorf("%v, asked with %v", err, asked)
	}
	if _, err := c.get(t.Context(), "/api/v1/redirect", nil); err == nil || !strings.Contains(err.Error(), "redirects") {
		t.Errorf("a redirect is followed: %v", err)
	}
	if _, err := g.client("http://reroll.example"); err == nil || strings.Contains(err.Error(), "abc") {
		t.Errorf("a token crosses the network in clear: %v", err)
	}
	if _, err := g.client("http://127.0.0.1:8080"); err != nil {
		t.Errorf("a token may go to this machine: %v", err)
	}
}
