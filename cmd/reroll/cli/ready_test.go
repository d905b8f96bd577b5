package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// readiness serves /readyz, which fails with body for as many requests as fails says.
func readiness(t *testing.T, fails int32, body string) string {
	t.Helper()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("asked for %s", r.URL)
		}
		if asked.Add(1) <= fails {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, body)
			return
		}
		_, _ = io.WriteString(w, "ok")
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestReady(t *testing.T) {
	const never = 1 << 30
	well, ill := readiness(t, 0, ""), readiness(t, never, "[+]start ok\n[-]nats failed: no \x1b[31mroom\nfailed\n")
	for name, tc := range map[string]struct {
		args []string
		says string
		code int
	}{
		"one that is ready":         {[]string{well}, "", ExitDone},
		"a slash at the end":        {[]string{well + "/"}, "", ExitDone},
		"with its path":             {[]string{well + "/readyz"}, "", ExitDone},
		"one of two is not":         {[]string{well, ill}, "nats failed: no ", ExitFailed},
		"nobody is there":           {[]string{"http://127.0.0.1:1"}, "127.0.0.1:1", ExitFailed},
		"not ready in time":         {[]string{ill, "--wait=1ms"}, "503 Service Unavailable", ExitFailed},
		"ready at the second try":   {[]string{readiness(t, 1, "[-]start failed: starting\n"), "--wait=1m"}, "", ExitDone},
		"no address of a process":   {[]string{"127.0.0.1:9090"}, "is not the URL", ExitUsage},
		"a file is no process":      {[]string{"file:///etc/passwd"}, "is not the URL", ExitUsage},
		"endless answers are cut":   {[]string{readiness(t, never, "[-]"+strings.Repeat("x", 2*maxReadiness))}, "is not ready", ExitFailed},
		"an answer without a check": {[]string{readiness(t, never, "")}, "is not ready (503", ExitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := readyCommand()
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cmd.SetArgs(tc.args)
			var out bytes.Buffer
			cmd.SetOut(&out)
			err := cmd.ExecuteContext(t.Context())
			if code, _ := ExitCode(err); code != tc.code {
				t.Errorf("code %d, want %d: %v", code, tc.code, err)
			}
			if err != nil && (!strings.Contains(err.Error(), tc.says) || strings.ContainsRune(err.Error(), '\x1b') || len(err.Error()) > maxReadiness+200) {
				t.Errorf("it says %.300q, want %q in it", err, tc.says)
			}
			if (out.String() == "ready\n") != (tc.code == ExitDone) {
				t.Errorf("output %q", out.String())
			}
		})
	}
}

// TestReadyAsksEachAddress: a name stands for all pods behind it, and one that is not ready is told by its address.
func TestReadyAsksEachAddress(t *testing.T) {
	port := "0" // any for the first, and the same for the second
	for i, status := range []int{http.StatusOK, http.StatusServiceUnavailable} {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:%s", i+2, port))
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ = net.SplitHostPort(listener.Addr().String())
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })}
		go func() { _ = server.Serve(listener) }() // it ends with Close
		t.Cleanup(func() { _ = server.Close() })
	}
	for name, tc := range map[string]struct {
		found []string
		says  string
	}{
		"all ready":      {[]string{"127.0.0.2"}, ""},
		"one is not":     {[]string{"127.0.0.2", "127.0.0.3"}, "http://127.0.0.3:" + port + " is not ready"},
		"nobody is left": {nil, "no such host"},
	} {
		t.Run(name, func(t *testing.T) {
			err := allReady(t.Context(), "http://reroll:"+port, func(context.Context, string) ([]string, error) {
				if tc.found == nil {
					return nil, errors.New("no such host")
				}
				return tc.found, nil
			})
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %q", err, tc.says)
			}
		})
	}
}
