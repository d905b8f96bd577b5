package hub_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/reloader/queue/hub"
	"github.com/reroll-dev/reroll/tests/natsserver"
	"github.com/reroll-dev/reroll/tests/port"
)

// TestEmbeddedHub: an embedded server with the accounts of a hub is one. A cluster whose account is added later forwards without a restart.
func TestEmbeddedHub(t *testing.T) {
	ports, err := port.Free(1)
	must(t, err)
	url := fmt.Sprint("nats://127.0.0.1:", ports[0])
	file := filepath.Join(t.TempDir(), "nats.conf")
	configure := func(clusters ...string) {
		t.Helper()
		accounts, err := hub.Permissions(clusters)
		if err == nil {
			accounts = strings.NewReplacer("$REROLL_HUB_PASSWORD", natsserver.Password, "$REROLL_CLUSTER_C1_PASSWORD", natsserver.Password, "$REROLL_CLUSTER_C2_PASSWORD", natsserver.Password).Replace(accounts)
			err = os.WriteFile(file, fmt.Appendf(nil, "listen: 127.0.0.1:%d\n%s", ports[0], accounts), 0o600)
		}
		must(t, err)
	}
	configure("c1")
	login := natsserver.Login(t, url, natsserver.HubUser)
	o := queue.Options{StoreDir: t.TempDir(), MaxStore: 64 << 20, ConfigFile: file, Login: login.Login, Logger: quiet, Streams: []string{queue.HistoryStream, queue.StateStream}}
	h, err := queue.Open(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { closeQueue(t, h) })
	seen := follow(t, url)
	for i, cluster := range []string{"c1", "c2"} {
		configure([]string{"c1", "c2"}[:i+1]...)
		must(t, hub.Add(t.Context(), login, cluster))
		q := local(t, t.TempDir())
		appendChanges(t, q, cluster, 0, 3)
		member(t, q, url, cluster, "uid-"+cluster, hub.Following{})
		seen.eventually(t, func() error {
			if seen.positions[cluster+"/HISTORY"].Sequence != 3 {
				return fmt.Errorf("%s has not forwarded", cluster)
			}
			return nil
		})
	}
	if _, err := queue.Dial(natsserver.Login(t, url, "c3")); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("a cluster without an account: %v", err)
	}
}

// TestWrongConfigFile: what the operator must change ends the start, and the error names the file.
func TestWrongConfigFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nats.conf")
	must(t, os.WriteFile(file, []byte("jetstream: {"), 0o600))
	_, err := queue.Open(t.Context(), queue.Options{StoreDir: t.TempDir(), ConfigFile: file, Logger: quiet})
	if err == nil || !queue.Permanent(err) || !strings.Contains(err.Error(), file) {
		t.Errorf("%v", err)
	}
}
