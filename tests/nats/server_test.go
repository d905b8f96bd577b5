package nats

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/reroll-dev/reroll/reloader/queue/hub"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

// TestDocumentedHub: the accounts of a hub in the documentation are those that the program prints, and a hub works with them. All users have the same
// password; the port and the folder of its files are the test's.
func TestDocumentedHub(t *testing.T) {
	const configs = "../../docs/nats"
	written, err := os.ReadFile(filepath.Join(configs, "hub.conf"))
	line.Must(t, err)
	if printed, err := hub.Permissions([]string{"local", "c2"}); err != nil || printed != string(written) {
		t.Errorf("docs/nats/hub.conf is not what reroll hub permissions local c2 prints (%v):\n%s", err, printed)
	}
	for _, match := range regexp.MustCompile(`\$(REROLL_[A-Z0-9_]+_PASSWORD)`).FindAllStringSubmatch(string(written), -1) {
		t.Setenv(match[1], natsserver.Password)
	}
	o, err := server.ProcessConfigFile(filepath.Join(configs, "hub-server.conf"))
	line.Must(t, err)
	o.Host, o.Port, o.StoreDir, o.NoSigs, o.NoLog = "127.0.0.1", -1, t.TempDir(), true, true
	s := natsserver.Run(t, o)
	for _, cluster := range []string{"local", "c2", "c2"} {
		if err := hub.Add(t.Context(), natsserver.Login(t, s.ClientURL(), natsserver.HubUser), cluster); err != nil {
			t.Errorf("add %s: %v", cluster, err)
		}
	}
}
