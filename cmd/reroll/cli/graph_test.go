package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestGraphOfOneNamespace: who may ask about one namespace alone sees what is there around a config, and is told what is missing.
func TestGraphOfOneNamespace(t *testing.T) {
	for name, allowed := range map[string]string{"that of the config": "shop", "none": ""} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if got := r.URL.Query().Get("namespace"); got == "" || got != allowed {
					w.WriteHeader(http.StatusForbidden)
					_, _ = w.Write([]byte(`{"detail":"not for you"}`))
					return
				}
				_, _ = w.Write([]byte(`{"nodes":[],"edges":[],"warnings":[]}`))
			}))
			defer server.Close()
			cmd := graphCommand("test")
			var out, said bytes.Buffer
			cmd.SetOut(&out)
			cmd.SetErr(&said)
			cmd.SetArgs([]string{"shop/cm/settings", "--server", server.URL})
			cmd.SilenceUsage, cmd.SilenceErrors = true, true
			err := cmd.ExecuteContext(t.Context())
			switch {
			case allowed == "" && (err == nil || !strings.Contains(err.Error(), "not for you")):
				t.Errorf("want the refusal, got %v and %q", err, out.String())
			case allowed != "" && (err != nil || !strings.Contains(said.String(), "others than shop are missing")):
				t.Errorf("want a warning, got %v and %q", err, said.String())
			}
		})
	}
}
