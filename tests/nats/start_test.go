package nats

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestWrongStart runs the program with what cannot work with an external NATS: it ends, and its last line says why and how to go on.
func TestWrongStart(t *testing.T) {
	s := documented(t, "server.conf")
	missing := filepath.Join(t.TempDir(), "missing")
	api := func(flags ...string) []string {
		return append([]string{"api", "--api-address=127.0.0.1:0", "--metrics-address=127.0.0.1:0", "--nats-url=" + s.ClientURL()}, flags...)
	}
	for name, tc := range map[string]struct {
		args []string
		want []string
	}{
		"no password":    {api("--nats-user=u", "--nats-password-file="+missing), []string{missing}},
		"no credentials": {api("--nats-creds=" + missing), []string{"credentials file", missing}},
		"no CA":          {api("--nats-tls-ca=" + missing), []string{missing}},
		"nobody":         {api(), []string{"Authorization Violation", s.Addr().String()}},
		"another user":   {api(append(loginFlags(t, "local"), "--nats-user=c9")...), []string{"Authorization Violation"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := reroll(t, tc.args...)
			if err == nil {
				t.Fatal("it ended as if all were well")
			}
			lines := strings.Split(strings.TrimSpace(out), "\n")
			last := lines[len(lines)-1]
			for _, want := range tc.want {
				if !strings.HasPrefix(last, "reroll: ") || !strings.Contains(last, want) {
					t.Errorf("the last line does not say %q:\n%s", want, out)
				}
			}
		})
	}
}
