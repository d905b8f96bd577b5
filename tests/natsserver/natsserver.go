// Package natsserver starts the NATS servers that tests give to Reroll.
package natsserver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/reloader/queue/hub"
	"github.com/reroll-dev/reroll/tests/line"
)

// startTime bounds the start of a server on a slow machine.
const startTime = time.Minute

// Start runs a server with JetStream, which waits for the disk, until the test ends. It listens at a free port of 127.0.0.1.
func Start(t testing.TB) *server.Server {
	t.Helper()
	return Run(t, &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		JetStream: true, SyncAlways: true, JetStreamMaxStore: 4 << 30, JetStreamMaxMemory: 64 << 20, StoreDir: t.TempDir(),
	})
}

// Run runs a server with these very options until the test ends.
func Run(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { Stop(s) })
	if !s.ReadyForConnections(startTime) {
		t.Fatalf("NATS was not ready within %s", startTime)
	}
	return s
}

// Stop ends a server and waits until it has let go of its files.
func Stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// HubUser is who administers a hub, and Password that of every user there. The user of a cluster is named as the cluster.
const HubUser, Password = "HUB", "secret"

var passwordVariable = regexp.MustCompile(`\$REROLL_\w+_PASSWORD`)

// HubOptions returns options with the accounts that reroll hub permissions prints. dir gets the configuration.
func HubOptions(dir string, clusters ...string) (*server.Options, error) {
	text, err := hub.Permissions(clusters)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "hub.conf")
	if err := os.WriteFile(file, []byte(passwordVariable.ReplaceAllString(text, Password)), 0o600); err != nil {
		return nil, err
	}
	o, err := server.ProcessConfigFile(file)
	if err != nil {
		return nil, err
	}
	o.Host, o.Port, o.NoSigs, o.NoLog = "127.0.0.1", server.RANDOM_PORT, true, true
	o.JetStream, o.SyncAlways, o.JetStreamMaxStore, o.JetStreamMaxMemory = true, true, 8<<30, 64<<20
	// Those of docs/nats/hub-server.conf.
	o.JetStreamLimits = server.JSLimitOpts{DefaultMaxConsumers: 2000, MaxBatchInflightPerStream: 1000, MaxBatchInflightTotal: 2000, MaxBatchTimeout: 5 * time.Second}
	return o, nil
}

// StartHub runs the NATS of a hub until the test ends, with every cluster added.
func StartHub(t testing.TB, clusters []string) *server.Server {
	t.Helper()
	o, err := HubOptions(t.TempDir(), clusters...)
	line.Must(t, err)
	o.StoreDir = t.TempDir()
	s := Run(t, o)
	for _, c := range clusters {
		line.Must(t, hub.Add(t.Context(), Login(t, s.ClientURL(), HubUser), c))
	}
	return s
}

// StartHubCluster runs a hub of three processes until the test ends, with every cluster added. TestMain must call ServeMember.
func StartHubCluster(t testing.TB, clusters ...string) *Cluster {
	t.Helper()
	c := StartCluster(t, clusters...)
	admin := Login(t, c.URL, HubUser)
	admin.Replicas = Members
	add := func(ctx context.Context, cluster string) error {
		return line.Poll(ctx, func(ctx context.Context) error { return hub.Add(ctx, admin, cluster) })
	}
	err := add(t.Context(), clusters[0]) // it waits for the servers
	adding, ctx := errgroup.WithContext(t.Context())
	adding.SetLimit(4)
	for _, cluster := range clusters[1:] {
		adding.Go(func() error { return add(ctx, cluster) })
	}
	line.Must(t, errors.Join(err, adding.Wait()))
	return c
}

// Login returns options to connect to a hub as a user.
func Login(t testing.TB, url, user string) queue.Options {
	t.Helper()
	return queue.Options{URL: url, Login: queue.Login{User: user, PasswordFile: PasswordFile(t)}}
}

// PasswordFile returns a file with Password.
func PasswordFile(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "password")
	line.Must(t, os.WriteFile(file, []byte(Password), 0o600))
	return file
}
