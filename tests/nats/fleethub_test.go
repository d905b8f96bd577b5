package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/port"
)

// hubVariable, in the environment, makes this program a NATS server with the configuration that it names. It obeys signals as any does.
const hubVariable = "REROLL_TEST_NATS_HUB"

func serveHub() bool {
	file := os.Getenv(hubVariable)
	if file == "" {
		return false
	}
	o, err := server.ProcessConfigFile(file)
	if err == nil {
		var s *server.Server
		if s, err = server.NewServer(o); err == nil {
			s.ConfigureLogger()
			s.Start()
			s.WaitForShutdown()
			return true
		}
	}
	fmt.Fprintln(os.Stderr, "NATS:", err)
	os.Exit(1)
	return true
}

// fleetHub is the NATS of a hub, set up as docs/fleet.md says: with what the program prints, and the passwords in the file.
type fleetHub struct {
	t        *testing.T
	dir, url string
	clusters []string
	// passwords are in place of the variables.
	passwords map[string]string
	// command returns what runs a server with a configuration, and cmd is what runs.
	command func(config string) *exec.Cmd
	cmd     *exec.Cmd
}

// startFleetHub starts a hub, and has its streams made.
func startFleetHub(ctx context.Context, t *testing.T, clusters ...string) *fleetHub {
	t.Helper()
	return startFleetHubAs(ctx, t, func(config string) *exec.Cmd {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), hubVariable+"="+config)
		return cmd
	}, clusters...)
}

func startFleetHubAs(ctx context.Context, t *testing.T, command func(config string) *exec.Cmd, clusters ...string) *fleetHub {
	t.Helper()
	h := &fleetHub{t: t, dir: t.TempDir(), clusters: clusters, passwords: map[string]string{}, command: command}
	addresses, err := port.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	h.url = "nats://" + addresses[0]
	h.file("server.conf", fmt.Sprintf("listen: %q\npid_file: %q\njetstream: {store_dir: %q, max_file_store: 4GB, sync_interval: always}\ninclude hub.conf\n",
		addresses[0], filepath.Join(h.dir, "pid"), filepath.Join(h.dir, "store")))
	h.print()
	h.start(ctx)
	t.Cleanup(h.kill)
	if out, err := reroll(t, append([]string{"nats", "setup", "--role=hub", "--nats-url", h.url}, h.flags("nats", user{queue.RoleHubAdmin, ""})...)...); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return h
}

// start starts the server, and returns when somebody can log in.
func (h *fleetHub) start(ctx context.Context) {
	h.t.Helper()
	h.cmd = h.command(filepath.Join(h.dir, "server.conf"))
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := h.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	u := user{queue.RoleHubAdmin, ""}
	poll(ctx, h.t, func() error { return h.login(u, h.password(u)) })
}

// kill ends the server as a crash would.
func (h *fleetHub) kill() {
	_ = h.cmd.Process.Kill()
	_ = h.cmd.Wait() // it was killed
}

// options are those of a user, who makes nothing.
func (h *fleetHub) options(u user) queue.Options {
	h.t.Helper()
	flags := h.flags("nats", u)
	return queue.Options{
		URL: h.url, Role: u.role, BindOnly: true, InboxPrefix: flags[5], Login: queue.Login{User: flags[1], PasswordFile: flags[3]},
		Logger: slog.New(slog.DiscardHandler),
	}
}

// forward brings what a cluster has on record to the hub until the end of the test.
func (h *fleetHub) forward(ctx context.Context, t *testing.T, own *queue.Queue, cluster string, to queue.Following) *queue.Forwarder {
	t.Helper()
	f, err := own.NewForwarder(queue.ForwardOptions{Cluster: cluster, UID: "uid-" + cluster, Hub: h.options(user{queue.RoleForward, cluster})})
	if err != nil {
		t.Fatal(err)
	}
	run, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- f.Run(run, to) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return f
}

// watch follows the hub as its API does until the end of the test.
func (h *fleetHub) watch(ctx context.Context, t *testing.T, log io.Writer) *sightings {
	t.Helper()
	o := h.options(user{queue.RoleHubAPI, ""})
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	q, s := open(ctx, t, o), &sightings{count: map[string]int{}}
	run, stop := context.WithCancel(ctx)
	t.Cleanup(stop)
	go func() {
		_ = q.Follow(run, queue.Followed{
			Change:       func(c reloader.StoredChange) { s.add("change %s", c.Change.New.Sum) },
			Reload:       func(_ uint64, r reloader.Reload) { s.add("reload %s", r.ID) },
			Workload:     func(w reloader.WorkloadRecord) { s.add("record %s", w.Workload.Name) },
			WorkloadGone: func(_ string, ref reloader.WorkloadRef) { s.add("end of %s", ref.Name) }, CaughtUp: func() {},
			Cluster:     func(c reloader.ClusterStatus) { s.add("status %s", c.Cluster) },
			ClusterGone: func(gone reloader.ClusterGone) { s.add("no %s any more", gone.Cluster) },
		})
	}()
	return s
}

func (h *fleetHub) file(name, text string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}

func (h *fleetHub) password(u user) string {
	variable := queue.PasswordVariable(u.role, u.cluster)
	if h.passwords[variable] == "" {
		h.passwords[variable] = "first of " + variable
	}
	return h.passwords[variable]
}

// print prints the permissions anew for the clusters that there are.
func (h *fleetHub) print() {
	h.t.Helper()
	out, err := reroll(h.t, "nats", "permissions", "--role=hub", "--cluster="+strings.Join(h.clusters, ","))
	if err != nil {
		h.t.Fatalf("%v: %s", err, out)
	}
	users := []user{{queue.RoleHubAdmin, ""}, {queue.RoleHubAPI, ""}}
	for _, cluster := range h.clusters {
		users = append(users, user{queue.RoleForward, cluster})
	}
	for _, u := range users {
		out = strings.ReplaceAll(out, "$"+queue.PasswordVariable(u.role, u.cluster), fmt.Sprintf("%q", h.password(u)))
	}
	h.file("hub.conf", out)
}

// reload prints the permissions anew and has the running server read them, as nats-server --signal reload does.
func (h *fleetHub) reload() {
	h.t.Helper()
	h.print()
	if err := h.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		h.t.Fatal(err)
	}
}

// add has the running server know one more cluster. What a new account imports is not listened to until a second reload.
func (h *fleetHub) add(ctx context.Context, cluster string) {
	h.t.Helper()
	h.clusters = append(h.clusters, cluster)
	h.reload()
	u := user{queue.RoleForward, cluster}
	poll(ctx, h.t, func() error { return h.login(u, h.password(u)) })
	h.reload()
}

// flags returns those of a user, each beginning with the given word. The password is in a file.
func (h *fleetHub) flags(prefix string, u user) []string {
	h.t.Helper()
	file := h.file(u.role.UserName(u.cluster)+".txt", h.password(u))
	prefix = "--" + prefix
	return []string{prefix + "-user", u.role.UserName(u.cluster), prefix + "-password-file", file, prefix + "-inbox-prefix", u.role.InboxPrefix(u.cluster)}
}

// login returns nil if the server takes a user with a password.
func (h *fleetHub) login(u user, password string) error {
	nc, err := nats.Connect(h.url, nats.UserInfo(u.role.UserName(u.cluster), password))
	if err == nil {
		nc.Close()
	}
	return err
}

// refuses waits until the server takes a user with a password no more.
func (h *fleetHub) refuses(ctx context.Context, u user, password string) {
	h.t.Helper()
	poll(ctx, h.t, func() error {
		if err := h.login(u, password); !errors.Is(err, nats.ErrAuthorization) {
			return fmt.Errorf("%v with %q: %w", u, password, err)
		}
		return nil
	})
}

// ids returns the changes and reloads of a cluster that are in the streams of the hub, each by its stream and ID. It fails if a record of the
// cluster is there twice: each says where in the cluster's own stream it was.
func (h *fleetHub) ids(ctx context.Context, cluster string) (map[string]bool, error) {
	u := user{queue.RoleHubAPI, ""}
	nc, err := nats.Connect(h.url, nats.UserInfo(u.role.UserName(""), h.password(u)), nats.CustomInboxPrefix(u.role.InboxPrefix("")))
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for stream, filter := range map[string]string{"CHANGES": "reroll.change.>", "RELOADS": "reroll.reload.>"} {
		if err := findIDs(ctx, js, stream, filter, cluster, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func findIDs(ctx context.Context, js jetstream.JetStream, stream, filter, cluster string, found map[string]bool) error {
	origins := map[string]bool{}
	consumer, err := js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{filter}})
	if err != nil {
		return err
	}
	for {
		batch, err := consumer.Fetch(1000, jetstream.FetchMaxWait(time.Second))
		if err != nil {
			return err
		}
		n := 0
		for m := range batch.Messages() {
			n++
			var r struct{ ID, Cluster string }
			if err := json.Unmarshal(m.Data(), &r); err != nil {
				return err
			}
			if r.Cluster != cluster {
				continue
			}
			origin := m.Headers().Get("Reroll-Origin")
			if origin == "" || origins[origin] {
				return line.Stop(fmt.Errorf("%s has %s of %s twice, of %q", stream, r.ID, cluster, origin))
			}
			origins[origin], found[stream+" "+r.ID] = true, true
		}
		if n == 0 {
			return batch.Error()
		}
	}
}
