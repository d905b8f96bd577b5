package app

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

//go:generate go test . -run ^(TestNATSDocuments|TestNATSInChart)$ -update

// commandOutput runs the command line and returns what it prints.
func commandOutput(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := Command("v1")
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// natsDocuments are the configurations in docs/nats, each with the arguments of the command that prints it.
var natsDocuments = map[string]string{
	"clusters.conf": "nats permissions --cluster=local,c2",
	"hub.conf":      "nats permissions --role=hub --cluster=local,c2",
}

// TestNATSDocuments compares the configurations in the documentation with what the program prints.
func TestNATSDocuments(t *testing.T) {
	for name, command := range natsDocuments {
		text, err := commandOutput(t, strings.Fields(command)...)
		if err != nil {
			t.Fatal(err)
		}
		want := "# reroll " + command + "\n" + text
		expectFile(t, filepath.Join("../../../docs/nats", name), want)
	}
}

// expectFile compares what a file has with what it is made of, or makes it with -update.
func expectFile(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(content)); diff != "" {
		t.Errorf("%s is out of date; run go generate ./cmd/reroll/app (-code +file):\n%s", path, diff)
	}
}

// chartNATS are the templates in the chart that print what the program prints, each with the role that it is for.
var chartNATS = map[string]string{"clusters.conf": "cluster", "hub.conf": "hub"}

// TestNATSInChart compares them with the configuration for one cluster: what names it is repeated for each, as tests/chart shows.
func TestNATSInChart(t *testing.T) {
	for name, role := range chartNATS {
		text, err := commandOutput(t, "nats", "permissions", "--role="+role, "--cluster=one-cluster")
		if err != nil {
			t.Fatal(err)
		}
		expectFile(t, filepath.Join("../../../helm/reroll/files/nats", name), chartTemplate(text))
	}
}

// chartTemplate makes a template of a configuration for one cluster: the account of a cluster, and an export that has its name in it, stand
// between @each and @end; an export to all has @accounts.
func chartTemplate(conf string) string {
	var b strings.Builder
	var inAccount, inExports bool
	for line := range strings.Lines(conf) {
		named := strings.Contains(line, "one-cluster")
		begins := !inAccount && named && strings.HasPrefix(line, "  \"")
		inExports = strings.HasPrefix(line, "    exports:") || inExports && !strings.HasPrefix(line, "    ]")
		subject, _, _ := strings.Cut(line, ", accounts:")
		shared := inExports && !inAccount && !strings.Contains(subject, "one-cluster")
		repeated := inExports && !inAccount && !shared
		if shared {
			line = strings.Replace(line, `accounts: ["reroll-hub-one-cluster"]`, "accounts: [@accounts]", 1)
		}
		line = strings.NewReplacer("one-cluster", "@cluster", "ONE_CLUSTER", "@CLUSTER").Replace(line)
		if begins || repeated {
			b.WriteString("@each\n")
		}
		b.WriteString(line)
		inAccount = begins || inAccount
		if inAccount && line == "  }\n" || repeated {
			b.WriteString("@end\n")
			inAccount = false
		}
	}
	return b.String()
}

func TestNATSCommandsAreRefused(t *testing.T) {
	for name, tc := range map[string]struct{ command, want string }{
		"no NATS":                    {"setup --cluster=c1", "--nats-url is required"},
		"no cluster":                 {"setup --nats-url=nats://n", "--cluster is required"},
		"a role that is none":        {"setup --nats-url=nats://n --role=x", `--role: "x"`},
		"an output that is none":     {"setup --nats-url=nats://n --cluster=c1 -o xml", `--output: "xml"`},
		"a hub with a cluster":       {"setup -o yaml --role=hub --cluster=c1", "a hub has none"},
		"a cluster that is no label": {"setup -o yaml --cluster=A.B", "A.B"},
		"a size that is none":        {"setup -o yaml --cluster=c1 --nats-store-size=x", "--nats-store-size"},
		"two replicas":               {"setup --nats-url=nats://n --cluster=c1 --nats-replicas=2", "1, 3 or 5"},
		"two logins":                 {"setup --nats-url=nats://n --cluster=c1 --nats-creds=x --nats-user=y --nats-password-file=z", "only one of"},
		"a file that is not there":   {"setup --nats-url=nats://n --cluster=c1 --nats-creds=nowhere.creds", "nowhere.creds"},
		"nobody to remove":           {"remove --nats-url=nats://n", "1 arg"},
		"what is no name":            {"remove A.B --nats-url=nats://n", "A.B"},
		"no hub":                     {"remove c1", "--nats-url is required"},
		"a hub and a store":          {"remove c1 --nats-url=nats://n --data-dir=d", "not both"},
		"no store":                   {"remove c1 --data-dir=nowhere", "there is no store"},
		"time that goes back":        {"remove c1 --nats-url=nats://n --silent-for=-1s", "--silent-for"},
		"nobody to permit":           {"permissions", "--cluster is required"},
		"a user that is none":        {"permissions --cluster=c1 --role=x", "there are"},
		"a user of no cluster":       {"permissions --cluster=A.B --role=api", "A.B"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := commandOutput(t, append([]string{"nats"}, strings.Fields(tc.command)...)...)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v does not say %q", err, tc.want)
			}
		})
	}
}

// TestSetupAsYAML shows that the definitions can be had without a NATS.
func TestSetupAsYAML(t *testing.T) {
	for command, want := range map[string]map[string]bool{
		"nats setup -o yaml --cluster=c1,c2":                           {"name: HINTS": true, "durable_name: dispatch-c2": true, "num_replicas: 3": false},
		"nats setup -o yaml --role=hub --nats-replicas=3":              {"name: HINTS": false, "name: CHANGES": true, "durable_name": false, "num_replicas: 3": true},
		"nats setup -o yaml --cluster=c1 --nats-store-size=1000000000": {"max_bytes: 250000000": true},
		"nats permissions --role=hub-api":                              {"user: \"hub-api\"": true, "reroll.change.>": true, "STREAM.CREATE": false},
		"nats permissions --role=serve --cluster=c1":                   {"user: \"serve-c1\"": true, "reroll.hint.c1.>": true, "STREAM.CREATE": false},
		"nats permissions --role=forward --cluster=c1 --cluster=c2":    {"user: \"forward-c1\"": true, "user: \"forward-c2\"": true, "CONSUMER.CREATE": false},
		"nats permissions --role=ingest --cluster=c1":                  {"reroll.hint.c1.>": true, "reroll.change": false, "$REROLL_INGEST_C1_PASSWORD": true},
	} {
		text, err := commandOutput(t, strings.Fields(command)...)
		if err != nil {
			t.Errorf("%s: %v", command, err)
		}
		for part, wanted := range want {
			if strings.Contains(text, part) != wanted {
				t.Errorf("%s: %q is there: %t, in\n%s", command, part, !wanted, text)
			}
		}
	}
}
