package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
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

// TestOneNamespaceStaysTheOneAskedFor: a namespace that was named is not exchanged for that of the config, whatever the server refuses.
func TestOneNamespaceStaysTheOneAskedFor(t *testing.T) {
	for name, command := range map[string]func(string) *cobra.Command{"graph": graphCommand, "workloads": workloadsCommand, "reloads": reloadsCommand} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.URL.Query().Get("namespace")+" of "+r.URL.Query().Get("configNamespace"))
				w.WriteHeader(http.StatusForbidden)
			}))
			defer server.Close()
			cmd := command("test")
			cmd.SetOut(io.Discard)
			cmd.SetErr(io.Discard)
			cmd.SetArgs([]string{"-n", "bank", "--config", "shop/cm/settings", "--server", server.URL})
			cmd.SilenceUsage, cmd.SilenceErrors = true, true
			if err := cmd.ExecuteContext(t.Context()); err == nil || !slices.Equal(asked, []string{"bank of shop"}) {
				t.Errorf("it ends with %v and asked for %q", err, asked)
			}
		})
	}
}

// TestListingsOfOneNamespace: who may ask about one namespace alone sees which of its workloads use a config, and is told what is missing.
func TestListingsOfOneNamespace(t *testing.T) {
	for name, command := range map[string]func(string) *cobra.Command{"workloads": workloadsCommand, "reloads": reloadsCommand} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("namespace") != "shop" {
					w.WriteHeader(http.StatusForbidden)
					return
				}
				_, _ = w.Write([]byte(`{"items":[],"metadata":{},"warnings":[]}`))
			}))
			defer server.Close()
			cmd := command("test")
			var said bytes.Buffer
			cmd.SetOut(io.Discard)
			cmd.SetErr(&said)
			cmd.SetArgs([]string{"--config", "shop/cm/settings", "--server", server.URL})
			cmd.SilenceUsage, cmd.SilenceErrors = true, true
			if err := cmd.ExecuteContext(t.Context()); err != nil || !strings.Contains(said.String(), "others than shop are missing") {
				t.Errorf("want a warning, got %v and %q", err, said.String())
			}
		})
	}
}
