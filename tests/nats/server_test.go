package nats

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/reroll-dev/reroll/reloader/queue/hub"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

const (
	configs  = "../../docs/nats"
	waitTime = 20 * time.Second
)

var passwordVariable = regexp.MustCompile(`\$(REROLL_[A-Z0-9_]+_PASSWORD)`)

// documented starts a server with a configuration of docs/nats, except for its port and the folder of its files. All users have the same password.
func documented(t *testing.T, name string) *server.Server {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(configs, "*.conf"))
	line.Must(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		line.Must(t, err)
		for _, match := range passwordVariable.FindAllStringSubmatch(string(text), -1) {
			t.Setenv(match[1], natsserver.Password)
		}
	}
	o, err := server.ProcessConfigFile(filepath.Join(configs, name))
	line.Must(t, err)
	o.Host, o.Port, o.StoreDir, o.NoSigs, o.NoLog = "127.0.0.1", -1, t.TempDir(), true, true
	return natsserver.Run(t, o)
}

// TestDocumentedHub: the accounts of a hub in the documentation are those that the program prints, and a hub works with them.
func TestDocumentedHub(t *testing.T) {
	written, err := os.ReadFile(filepath.Join(configs, "hub.conf"))
	line.Must(t, err)
	if printed, err := hub.Permissions([]string{"local", "c2"}); err != nil || printed != string(written) {
		t.Errorf("docs/nats/hub.conf is not what reroll hub permissions local c2 prints (%v):\n%s", err, printed)
	}
	s := documented(t, "hub-server.conf")
	for _, cluster := range []string{"local", "c2", "c2"} {
		if err := hub.Add(t.Context(), natsserver.Login(t, s.ClientURL(), natsserver.HubUser), cluster); err != nil {
			t.Errorf("add %s: %v", cluster, err)
		}
	}
}
