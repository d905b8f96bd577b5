package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// readiness serves /readyz with a status and a body.
func readiness(t *testing.T, status int, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("asked for %s", r.URL)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestReady(t *testing.T) {
	well, ill := readiness(t, 200, "ok"), readiness(t, 503, "[+]start ok\n[-]nats failed: no \x1b[31mroom\nfailed\n")
	for name, tc := range map[string]struct {
		args []string
		says string
		code int
	}{
		"one that is ready":         {[]string{well}, "", ExitDone},
		"a slash at the end":        {[]string{well + "/"}, "", ExitDone},
		"one that is not":           {[]string{ill}, "(503 Service Unavailable): nats failed: no ", ExitFailed},
		"two":                       {[]string{well, ill}, "accepts at most 1 arg", ExitUsage},
		"nobody is there":           {[]string{"http://127.0.0.1:1"}, "127.0.0.1:1", ExitFailed},
		"no address of a process":   {[]string{"127.0.0.1:9090"}, "is not the URL", ExitUsage},
		"a file is no process":      {[]string{"file:///etc/passwd"}, "is not the URL", ExitUsage},
		"endless answers are cut":   {[]string{readiness(t, 503, "[-]"+strings.Repeat("x", 2*maxReadiness))}, "is not ready", ExitFailed},
		"an answer without a check": {[]string{readiness(t, 503, "")}, "is not ready (503", ExitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := Probes()[0]
			CheckUsage(cmd)
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cmd.SetArgs(tc.args)
			err := cmd.ExecuteContext(t.Context())
			if code, _ := ExitCode(err); code != tc.code {
				t.Errorf("code %d, want %d: %v", code, tc.code, err)
			}
			if err != nil && (!strings.Contains(err.Error(), tc.says) || strings.ContainsRune(err.Error(), '\x1b') || len(err.Error()) > maxReadiness+200) {
				t.Errorf("it says %.300q, want %q in it", err, tc.says)
			}
		})
	}
}
