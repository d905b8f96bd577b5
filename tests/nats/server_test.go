package nats

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

const (
	configs  = "../../docs/nats"
	waitTime = 20 * time.Second
)

var passwordVariable = regexp.MustCompile(`\$(REROLL_[A-Z0-9_]+_PASSWORD)`)

// documented starts a server with a configuration of docs/nats as it is, but for its port and the folder of its files. The password
// of each user is the name of its variable.
func documented(t *testing.T, name string) *server.Server {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(configs, "*.conf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range passwordVariable.FindAllStringSubmatch(string(text), -1) {
			t.Setenv(match[1], match[1])
		}
	}
	o, err := server.ProcessConfigFile(filepath.Join(configs, name))
	if err != nil {
		t.Fatal(err)
	}
	o.Host, o.Port, o.StoreDir, o.NoSigs, o.NoLog = "127.0.0.1", -1, t.TempDir(), true, true
	return natsserver.Run(t, o)
}

// loginFlags returns the flags of a role, with its password in a file.
func loginFlags(t *testing.T, role queue.Role, cluster string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(queue.PasswordVariable(role, cluster)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{
		"--nats-user", role.UserName(cluster), "--nats-password-file", file, "--nats-inbox-prefix", role.InboxPrefix(cluster),
	}
}
