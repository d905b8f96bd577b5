//go:build nightly

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// TestWrongStart shows that whatever is wrong at start gives one clear line and a code other than 0.
func TestWrongStart(t *testing.T) {
	t.Parallel()
	binary, err := line.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	garbage := file("garbage.pem", "no certificate")
	nobody := file("nobody.kubeconfig", `{apiVersion: v1, kind: Config, current-context: x, clusters: [{name: x, cluster: {server: "https://127.0.0.1:1"}}], contexts: [{name: x, context: {cluster: x}}]}`)
	real := shared.Kube.Kubeconfig()
	one, other := servingPair(t), servingPair(t)
	certificate, key, anotherKey := file("tls.crt", string(one.CertPEM)), file("tls.key", string(one.KeyPEM)), file("other.key", string(other.KeyPEM))
	for name, test := range map[string]struct {
		args []string
		env  []string
		want string
	}{
		"unknown flag":          {args: []string{"serve", "--no-such-flag"}, want: "no-such-flag"},
		"bad duration":          {args: []string{"serve", "--coalesce-window", "soon"}, want: "coalesce-window"},
		"bad strategy":          {args: []string{"serve", "--reload-strategy", "magic"}, want: "reload-strategy"},
		"bad cluster name":      {args: []string{"serve", "--cluster-name", "Not A Label"}, want: "cluster-name"},
		"no cluster name":       {args: []string{"dispatch", "--nats-url", "nats://127.0.0.1:1"}, want: "cluster-name"},
		"no NATS":               {args: []string{"ingest"}, want: "nats-url"},
		"NATS unreachable":      {args: []string{"api", "--nats-url", "nats://127.0.0.1:1"}, want: "127.0.0.1:1"},
		"bad environment":       {args: []string{"serve"}, env: []string{"REROLL_KUBE_QPS=many"}, want: "REROLL_KUBE_QPS"},
		"no configuration file": {args: []string{"serve", "--config", filepath.Join(dir, "none")}, want: "none"},
		"unknown setting":       {args: []string{"serve", "--config", file("a.yaml", "colour: blue\n")}, want: "colour"},
		"setting twice":         {args: []string{"serve", "--config", file("b.yaml", "log-level: info\nlog-level: debug\n")}, want: "log-level"},
		"no kubeconfig":         {args: []string{"serve", "--ingest-insecure-http", "--ingest-address", "127.0.0.1:0", "--kubeconfig", filepath.Join(dir, "none")}, want: "none"},
		"API server down":       {args: []string{"serve", "--ingest-insecure-http", "--ingest-address", "127.0.0.1:0", "--kubeconfig", nobody}, want: "127.0.0.1:1"},
		"no authentication":     {args: []string{"serve", "--kubeconfig", real, "--ingest-tls-cert", certificate, "--ingest-tls-key", key}, want: "ingest"},
		"plain HTTP for all":    {args: []string{"serve", "--kubeconfig", real, "--ingest-insecure-http", "--ingest-address", "0.0.0.0:0"}, want: "loopback"},
		"bad certificate": {
			args: []string{"serve", "--kubeconfig", real, "--ingest-tls-cert", garbage, "--ingest-tls-key", garbage, "--ingest-tls-client-ca", garbage},
			want: "garbage.pem",
		},
		"key of another certificate": {
			args: []string{"serve", "--kubeconfig", real, "--ingest-tls-cert", certificate, "--ingest-tls-key", anotherKey, "--ingest-tls-client-ca", certificate},
			want: "private key does not match",
		},
		"bad token file": {
			args: []string{"serve", "--kubeconfig", real, "--ingest-tls-cert", certificate, "--ingest-tls-key", key, "--ingest-token-file", file("tokens", "no cluster here\n")},
			want: "tokens",
		},
		"unknown context": {
			args: []string{"serve", "--kubeconfig", real, "--context", "elsewhere", "--ingest-insecure-http", "--ingest-address", "127.0.0.1:0"}, want: "elsewhere",
		},
	} {
		t.Run(name, func(t *testing.T) {
			args := test.args
			if args[0] == "serve" {
				args = append(args, "--data-dir", filepath.Join(t.TempDir(), "data"), "--metrics-address", "127.0.0.1:0", "--api-address", "127.0.0.1:0")
			}
			output, code := runToEnd(t, binary, test.env, args...)
			if complaint := onlyComplaint(output); code == 0 || !strings.Contains(complaint, test.want) {
				t.Errorf("code %d, and there is no one clear line that names %q:\n%s", code, test.want, output)
			}
		})
	}
}

// onlyComplaint returns the last line of output, if that alone says what is wrong; the others may say how far the start has come.
func onlyComplaint(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	last := len(lines) - 1
	for _, line := range lines[:last] {
		if !strings.Contains(line, " level=INFO ") {
			return ""
		}
	}
	if !strings.HasPrefix(lines[last], "reroll: ") {
		return ""
	}
	return lines[last]
}

// servingPair returns a certificate for a server, with its key.
func servingPair(t *testing.T) kube.KeyPair {
	t.Helper()
	ca, err := kube.NewCA("wrong start")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Server("reroll", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func runToEnd(t *testing.T, binary string, env []string, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), env...)
	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("it did not end: %v\n%s", err, output)
	}
	return string(output), cmd.ProcessState.ExitCode()
}
