//go:build nightly

package chart_test

import (
	"strings"
	"testing"
)

// TestRightsOnPods: an API server with the roles of a release lets the process that rolls workloads annotate pods only with hotReload.enabled, run commands
// in them only with hotReload.exec as well, neither in a dry run, nor elsewhere than where workloads count, and no other process.
func TestRightsOnPods(t *testing.T) {
	cluster := startRig(t)
	const neither, annotate, both = "no no no", "yes no no", "yes yes yes"
	for _, c := range []struct{ values, set, account, namespace, want string }{
		{"default", "", "example-reroll", "shop", neither},
		{"default", "config.hotReload.enabled=true", "example-reroll", "shop", annotate},
		{"default", "config.hotReload.exec=true", "example-reroll", "shop", neither},
		{"default", "dryRun=true,config.hotReload.enabled=true,config.hotReload.exec=true", "example-reroll", "shop", neither},
		{"split", "", "example-reroll-dispatch", "shop", both},
		{"split", "", "example-reroll-api", "shop", neither},
		{"split", "", "example-reroll-admission", "shop", neither},
		{"namespaced", "", "example-reroll", "shop", annotate},
		{"namespaced", "config.hotReload.exec=true", "example-reroll", "billing", both},
		{"namespaced", "config.hotReload.exec=true", "example-reroll", namespace, neither},
	} {
		t.Run(strings.ReplaceAll(strings.Join([]string{c.values, c.set, c.account, c.namespace}, " "), ",", " "), func(t *testing.T) {
			var more []string
			if c.set != "" {
				more = []string{"--set", c.set}
			}
			bindMore(t, cluster, c.values, more)
			var got []string
			for _, right := range []string{"patch pods", "get pods --subresource=exec", "create pods --subresource=exec"} {
				args := append([]string{"auth", "can-i", "--as=" + accountUser + c.account, "--namespace=" + c.namespace}, strings.Fields(right)...)
				answer, _ := cluster.Kubectl(t.Context(), args...) // no ends with exit code 1
				got = append(got, strings.TrimSpace(answer))
			}
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("may it patch pods, get and create their exec: %q, want %q", text, c.want)
			}
		})
	}
}
