package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
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
	if _, err := c.ask(t.Context(), http.MethodGet, "/api/v1/self", nil, nil); err == nil || asked != nil {
		t.Errorf("a server that nobody vouches for was asked with %v: %v", asked, err)
	}
	c.http = server.Client()
	c.http.CheckRedirect = func() func(*http.Request, []*http.Request) error {
		c, _ := g.client(server.URL)
		return c.http.CheckRedirect
	}()
	if _, err := c.ask(t.Context(), http.MethodGet, "/api/v1/self", nil, nil); err != nil || asked.Get("Authorization") != "Bearer abc" || asked.Get("User-Agent") != "reroll/v1.2.3" {
		t.Errorf("%v, asked with %v", err, asked)
	}
	if _, err := c.ask(t.Context(), http.MethodGet, "/api/v1/redirect", nil, nil); err == nil || !strings.Contains(err.Error(), "redirects") {
		t.Errorf("a redirect is followed: %v", err)
	}
	if _, err := g.client("http://reroll.example"); err == nil || strings.Contains(err.Error(), "abc") {
		t.Errorf("a token crosses the network in clear: %v", err)
	}
	if _, err := g.client("http://127.0.0.1:8080"); err != nil {
		t.Errorf("a token may go to this machine: %v", err)
	}
}

// FuzzAnswers has a server answer anything. Whatever a terminal obeys is kept from people.
func FuzzAnswers(f *testing.F) {
	f.Add("get workloads", "", 200, `{"items":[{"cluster":"local","workload":{"kind":"Deployment","namespace":"shop","name":"cart\u001b[31m"}}],"continue":""}`)
	f.Add("get changes", "-owide", 200, `{"items":[{"id":"c-1","config":{"kind":"Secret"},"keys":null,"candidates":[{}]}]}`)
	f.Add("get reloads", "-oname", 200, `{"items":[{"id":"r-1","causes":[]}]}`)
	f.Add("get clusters", "-oyaml", 200, `{"items":[null]}`)
	f.Add("get changes", "-ojsonpath={.items[*].id}", 200, `{"items":7}`)
	f.Add("get workloads", "", 200, `{"items":[],"continue":"for ever"}`)
	f.Add("get workloads", "-ojson", 404, `{"detail":"\u001b]0;x","errors":[{"message":"m","location":"l"}]}`)
	f.Fuzz(func(t *testing.T, command, flag string, status int, body string) {
		if !slices.Contains([]string{"get workloads", "get changes", "get reloads", "get clusters", "status"}, command) || status < 200 || status > 599 || status == http.StatusTooManyRequests {
			return // no such command or answer
		}
		if flag != "" && !strings.HasPrefix(flag, "-o") {
			return // this is about formats
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body) // who has gone needs nothing
		}))
		defer server.Close()
		args := append(strings.Fields(command), "--server", server.URL)
		if flag != "" {
			args = append(args, flag)
		}
		out, _, err := run(t, args...)
		if err != nil && len(err.Error()) > 4096+4*len(body) {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
		if (flag == "" || flag == "-owide" || flag == "-oname") && strings.ContainsRune(out, '\x1b') {
			t.Errorf("a terminal would obey %q", out)
		}
	})
}

// FuzzManifests: only configs with names are found in a file, and no error quotes it.
func FuzzManifests(f *testing.F) {
	f.Add("apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: b}\nstringData: {c: d}\n---\nkind: List\nitems: [{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}]\n")
	f.Add("a: {")
	f.Fuzz(func(t *testing.T, text string) {
		found, err := proposalsIn(strings.NewReader(text), "-", "")
		if err != nil && len(err.Error()) > 200 {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
		for _, p := range found {
			if p.Config.Name == "" || !slices.Contains(configKinds(), string(p.Config.Kind)) {
				t.Errorf("%+v", p.Config)
			}
		}
	})
}
