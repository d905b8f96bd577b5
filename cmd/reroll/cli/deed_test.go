package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// TestDeedOfNobodyAndSeveral: names are a list, also of none.
func TestDeedOfNobodyAndSeveral(t *testing.T) {
	for names, want := range map[string][2]string{
		"":                             {"", `{"done":"x","message":"did","names":[]}`},
		"shop/Job/a shop/Deployment/b": {"shop/Job/a\nshop/Deployment/b\n", `{"done":"x","message":"did","names":["shop/Job/a","shop/Deployment/b"]}`},
	} {
		for i, format := range []string{"name", "json"} {
			var d Deed
			cmd := &cobra.Command{Use: "x", RunE: func(cmd *cobra.Command, _ []string) error {
				return d.Say(cmd.OutOrStdout(), Done{What: "x", Said: "did", Names: strings.Fields(names), Details: map[string]string{"reason": ""}})
			}}
			d.Bind(cmd)
			said, _, err := command(t, cmd, "-o", format)
			if format == "json" {
				said = strings.Join(strings.Fields(said), "")
			}
			if diff := cmp.Diff(want[i], said); err != nil || diff != "" || d.Plain() {
				t.Errorf("%s of %q: %v (-want +got):\n%s", format, names, err, diff)
			}
		}
	}
}

// TestReloadIsTold: a reload is told in every format.
func TestReloadIsTold(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"id":"k-1","cluster":"east","result":"Done","reloadID":"r-1","outcome":"Reloaded"}`)
	}))
	defer server.Close()
	for format, want := range map[string]string{
		"":                    "east/shop/Deployment/web: Reloaded, r-1\n",
		"wide":                "east/shop/Deployment/web: Reloaded, r-1\nCommand:     k-1\nCluster:     east\nResult:      Done\n",
		"name":                "r-1\n",
		"yaml":                "cluster: east\nid: k-1\noutcome: Reloaded\nreloadID: r-1\nresult: Done\n",
		"jsonpath={.outcome}": "Reloaded\n",
	} {
		said, _, err := command(t, reloadCommand("test"), "east/shop/deploy/web", "--server", server.URL, "-o", format)
		if diff := cmp.Diff(want, said); err != nil || diff != "" {
			t.Errorf("-o %s: %v (-want +got):\n%s", format, err, diff)
		}
	}
}
