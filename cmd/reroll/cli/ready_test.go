package cli

import (
	"bytes"
	"io"
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
