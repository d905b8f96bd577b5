//go:build nightly

package thousand

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

func TestMain(m *testing.M) {
	if natsserver.ServeMember() || serveForwarder() {
		return
	}
	fmt.Println("commit", line.Commit(context.Background()))
	os.Exit(m.Run())
}

// The size of a run. make thousand asks for more of all of it.
var (
	members = line.Setting("THOUSAND_MEMBERS", 20)
	cutTime = time.Duration(line.Setting("THOUSAND_CUT_SECONDS", 30)) * time.Second
	kills   = line.Setting("THOUSAND_KILLS", 30)
	written = line.Setting("THOUSAND_RECORDS", 600)
)

var quiet = slog.New(slog.DiscardHandler)

func login(url, user, password string) queue.Options {
	return queue.Options{URL: url, Login: queue.Login{User: user, PasswordFile: password}, Logger: quiet}
}

func clusterName(i int) string { return fmt.Sprintf("c%03d", i) }

func clusterNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = clusterName(i)
	}
	return names
}

// pause waits, and reports whether it did so to the end.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// world is a hub with its API, the NATS that all members share, each with an account of its own, and an observer of the hub.
type world struct {
	*natsserver.Cluster
	*observer
	api      *line.Reroll
	local    string
	password string
}

func newWorld(ctx context.Context, t *testing.T, n int) *world {
	t.Helper()
	w := &world{password: natsserver.PasswordFile(t), local: startLocal(t, n)}
	began := time.Now()
	w.Cluster = natsserver.StartHubCluster(t, clusterNames(n)...)
	t.Logf("a hub of %d clusters was there after %s", n, since(began))
	var err error
	w.api, err = line.StartAPI(ctx, "--set", "nats.url="+w.URL, "--set", "nats.user="+natsserver.HubUser, "--set", "nats.passwordFile="+w.password)
	line.Must(t, err)
	t.Cleanup(w.api.Kill)
	w.observer = observe(ctx, t, login(w.URL, natsserver.HubUser, w.password))
	return w
}

// startLocal starts the NATS of all members. It does not wait for the disk, because the test measures the hub.
func startLocal(t testing.TB, n int) (url string) {
	t.Helper()
	var accounts strings.Builder
	for _, name := range clusterNames(n) {
		fmt.Fprintf(&accounts, "  %q: { jetstream: enabled, users: [{ user: %q, password: %q }] }\n", name, name, natsserver.Password)
	}
	file := filepath.Join(t.TempDir(), "local.conf")
	line.Must(t, os.WriteFile(file, []byte("jetstream: enabled\naccounts: {\n"+accounts.String()+"}\n"), 0o600))
	o, err := server.ProcessConfigFile(file)
	line.Must(t, err)
	o.Host, o.Port, o.NoSigs, o.NoLog, o.StoreDir, o.JetStreamMaxStore = "127.0.0.1", server.RANDOM_PORT, true, true, t.TempDir(), 64<<30
	o.SyncInterval = time.Hour
	return natsserver.Run(t, o).ClientURL()
}

// memory logs what each process takes.
func (w *world) memory(t *testing.T) {
	t.Helper()
	pids := map[string]int{"the API": w.api.PID(), "all members and their NATS": os.Getpid()}
	for _, name := range w.Names() {
		pids["NATS server "+name] = w.PID(name)
	}
	for name, pid := range pids {
		now, most, err := line.Memory(pid)
		line.Must(t, err)
		t.Logf("memory of %s: %d MiB, %d MiB at most", name, now>>20, most>>20)
	}
}
