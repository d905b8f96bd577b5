package cli

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// clientOfFlags returns the client that a command line makes.
func clientOfFlags(t *testing.T, args ...string) (*client, error) {
	t.Helper()
	var to target
	cmd := &cobra.Command{}
	to.bind(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return to.client(t.Context(), "v1.2.3")
}

// TestServer: a flag wins over the environment, the environment over the usual kubeconfig; without any, as in a pod, it is the loopback.
func TestServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	writeFile(t, file, "current-context: east\n") // with nothing of that name
	t.Setenv("KUBECONFIG", file)
	if _, err := clientOfFlags(t); err == nil || !strings.Contains(err.Error(), "through the cluster: kubeconfig") {
		t.Errorf("with a kubeconfig: %v", err)
	}
	t.Setenv(serverVariable, "reroll.example:8080/prefix/")
	if _, err := clientOfFlags(t, "--context=west"); err == nil || !strings.Contains(err.Error(), `"west" does not exist`) {
		t.Errorf("with a context: %v", err)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"from the environment": {nil, "http://reroll.example:8080/prefix"},
		"the flag wins":        {[]string{"--server", "https://other/?a=b#c"}, "https://other"},
	} {
		got, err := clientOfFlags(t, c.args...)
		if err != nil || got.base.String() != c.want {
			t.Errorf("%s: %v, %v, want %s", name, got, err, c.want)
		}
	}
	t.Setenv(serverVariable, "")
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	if got, err := clientOfFlags(t); err != nil || got.base.String() != defaultServer {
		t.Errorf("without a kubeconfig: %v, %v", got, err)
	}
	for _, address := range []string{"ftp://x", "http://", "http://[", "://"} {
		if _, err := clientOfFlags(t, "--server", address); err == nil {
			t.Errorf("%q is taken for an address", address)
		}
	}
}

// TestToken: who asks is told to a server that is trusted, and to no other.
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
	dir := t.TempDir()
	token, ca := filepath.Join(dir, "token"), filepath.Join(dir, "ca.crt")
	writeFile(t, token, "abc\n")
	writeFile(t, ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	c, err := clientOfFlags(t, "--server", server.URL, "--token-file", token, "--certificate-authority", ca)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.http.CloseIdleConnections)
	if _, err := c.get(t.Context(), "/api/v1/self", nil); err != nil || asked.Get("Authorization") != "Bearer abc" || asked.Get("User-Agent") != "reroll/v1.2.3" {
		t.Errorf("%v, asked with %v", err, asked)
	}
	if _, err := c.get(t.Context(), "/api/v1/redirect", nil); err == nil || !strings.Contains(err.Error(), "redirects") {
		t.Errorf("a redirect is followed: %v", err)
	}
	stranger, err := clientOfFlags(t, "--server", server.URL, "--token-file", token)
	if err != nil {
		t.Fatal(err)
	}
	asked = nil
	if _, err := stranger.get(t.Context(), "/api/v1/self", nil); err == nil || asked != nil {
		t.Errorf("a server that nobody vouches for was asked with %v: %v", asked, err)
	}
	for _, args := range [][]string{
		{"--token-file", filepath.Join(dir, "missing")},
		{"--certificate-authority", filepath.Join(dir, "missing")},
		{"--certificate-authority", token},
		{"--token-file", token, "--server", "http://reroll.example"},
		{"--client-certificate", ca, "--server", server.URL},
		{"--client-key", token, "--server", server.URL},
		{"--client-certificate", ca, "--client-key", token, "--server", server.URL},
		{"--client-certificate", ca, "--client-key", ca, "--server", "http://127.0.0.1:8080"},
	} {
		if _, err := clientOfFlags(t, args...); err == nil || strings.Contains(err.Error(), "abc") {
			t.Errorf("%q: %v", args, err)
		}
	}
	if _, err := clientOfFlags(t, "--token-file", token, "--server", "http://127.0.0.1:8080"); err != nil {
		t.Errorf("a token may go to this machine: %v", err)
	}
}

func writeFile(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPatience: a server that asks to come later is asked again, and not for ever.
func TestPatience(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path == "/api/v1/soon" && asked == 2 {
			_, _ = w.Write([]byte("{}"))
			return
		}
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	t.Cleanup(server.Close)
	c, err := clientOfFlags(t, "--server", server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.http.CloseIdleConnections)
	began := time.Now()
	if _, err := c.get(t.Context(), "/api/v1/soon", nil); err != nil || asked != 2 || time.Since(began) < time.Second {
		t.Errorf("asked %d times in %s: %v", asked, time.Since(began), err)
	}
	asked = 0
	if _, err := c.get(t.Context(), "/api/v1/never", nil); err == nil || asked != patience {
		t.Errorf("asked %d times: %v", asked, err)
	}
}
