package chart_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader/queue"
)

// TestNATSPermissions: the chart says to a NATS server what the program says, and the server understands it.
func TestNATSPermissions(t *testing.T) {
	clusters := []string{"east", "far-west", "west2"}
	for shape, tc := range map[string]struct {
		file string
		want func([]string) (string, error)
	}{
		"roles": {"clusters.conf", queue.ClusterAccounts},
		"hub":   {"hub.conf", queue.HubAccounts},
	} {
		t.Run(shape, func(t *testing.T) {
			got := natsPermissions(t, tc.file, "deploymentMode="+shape+",nats.permissions.clusters={"+strings.Join(clusters, ",")+"}")
			want, err := tc.want(clusters)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(statements(want), statements(got)); diff != "" {
				t.Errorf("permissions (-program +chart):\n%s", diff)
			}
			understood(t, got)
		})
	}
	own := natsPermissions(t, "clusters.conf", "deploymentMode=roles,clusterName=north")
	if want, err := queue.ClusterAccounts([]string{"north"}); err != nil || cmp.Diff(statements(want), statements(own)) != "" {
		t.Errorf("permissions without names of clusters are not those of the cluster itself: %v\n%s", err, own)
	}
}

// natsPermissions returns a part of the configuration of a NATS server that the chart makes.
func natsPermissions(t *testing.T, file, set string) string {
	t.Helper()
	rendered := render(t, "--set", "nats.url=nats://nats:4222,nats.permissions.create=true,"+set)
	for _, object := range decode(t, rendered) {
		if m, ok := object.(*corev1.ConfigMap); ok && strings.HasSuffix(m.Name, "-nats") {
			return m.Data[file]
		}
	}
	t.Fatalf("--set %s: there is no ConfigMap whose name ends with -nats", set)
	return ""
}

// statements returns the lines of a configuration in any order, without what is said to people and how they are aligned.
func statements(conf string) []string {
	var all []string
	for line := range strings.Lines(conf) {
		said, _, _ := strings.Cut(line, " # ")
		if said = strings.Join(strings.Fields(said), " "); said != "" {
			all = append(all, said)
		}
	}
	slices.Sort(all)
	return all
}

// understood has the parser of a NATS server read a configuration, with every password that it asks for.
func understood(t *testing.T, conf string) {
	t.Helper()
	for _, word := range strings.Fields(conf) {
		if name, found := strings.CutPrefix(word, "$REROLL_"); found {
			t.Setenv("REROLL_"+name, "secret")
		}
	}
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatalf("%v\n%s", err, conf)
	}
	if len(options.Accounts) == 0 || len(options.Users) == 0 {
		t.Errorf("the server finds %d accounts and %d users", len(options.Accounts), len(options.Users))
	}
}
