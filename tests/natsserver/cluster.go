package natsserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/port"
)

const (
	// memberVariable, in the environment, makes this program one server of a NATS cluster, so that it can be killed as a process.
	memberVariable = "REROLL_TEST_NATS_MEMBER"
	// Members is how many servers a cluster has.
	Members = 3
	// askTime bounds one question to a cluster that may have no leader.
	askTime = 2 * time.Second
)

// member is one server of a cluster, with its ports on the loopback address.
type member struct {
	Name, Store  string
	Client, Peer int
	Peers        []int
	// Hub are the clusters of the hub that the servers are; none if they are not a hub.
	Hub []string
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// Environment makes a program that calls ServeMember a server of its own at a port of the loopback address, with its files in store.
func Environment(port int, store string) string {
	text, _ := json.Marshal(member{Name: "alone", Store: store, Client: port}) // which has nothing that cannot be written
	return memberVariable + "=" + string(text)
}

// ServeMember runs a server until the process is ended, if the environment says so. Otherwise it returns false.
func ServeMember() bool {
	var m member
	if json.Unmarshal([]byte(os.Getenv(memberVariable)), &m) != nil {
		return false
	}
	routes := make([]*url.URL, len(m.Peers))
	for i, peer := range m.Peers {
		routes[i] = &url.URL{Scheme: "nats", Host: loopback(peer)}
	}
	s, err := newMember(m, routes)
	if err != nil {
		fmt.Fprintln(os.Stderr, "NATS:", err)
		os.Exit(1)
	}
	s.Start()
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	<-end
	s.Shutdown()
	s.WaitForShutdown()
	return true
}

func newMember(m member, routes []*url.URL) (*server.Server, error) {
	o := &server.Options{
		Host: "127.0.0.1", NoSigs: true, NoLog: true,
		JetStream: true, SyncAlways: true, JetStreamMaxStore: 4 << 30, JetStreamMaxMemory: 64 << 20,
	}
	if len(m.Hub) > 0 {
		err := os.MkdirAll(m.Store, 0o700)
		if err == nil {
			o, err = HubOptions(m.Store, m.Hub...)
		}
		if err != nil {
			return nil, err
		}
	}
	o.ServerName, o.Port, o.StoreDir, o.Routes = m.Name, m.Client, m.Store, routes
	if o.Cluster.NoAdvertise = true; len(routes) > 0 { // nobody goes around a link in between
		o.Cluster.Name, o.Cluster.Host, o.Cluster.Port = "three", "127.0.0.1", m.Peer
	}
	return server.NewServer(o)
}

// Cluster is a NATS cluster of three processes, with a connection to it.
type Cluster struct {
	URL       string
	Conn      *nats.Conn
	JetStream jetstream.JetStream
	// Addresses are those of the members, without the scheme.
	Addresses []string
	members   map[string]member
	processes map[string]*exec.Cmd
}

// StartCluster starts a cluster that ends with the test, as the hub of some clusters if there are any.
func StartCluster(t testing.TB, hub ...string) *Cluster {
	t.Helper()
	c := &Cluster{members: map[string]member{}, processes: map[string]*exec.Cmd{}}
	dir := t.TempDir() // it is removed after the servers have ended
	t.Cleanup(func() {
		for name := range c.processes {
			c.Kill(name)
		}
	})
	ports, err := port.Free(2 * Members)
	line.Must(t, err)
	for i := range Members {
		name := fmt.Sprint("n", i)
		c.members[name] = member{Name: name, Store: filepath.Join(dir, name), Client: ports[i], Peer: ports[Members+i], Peers: ports[Members:], Hub: hub}
		c.Addresses = append(c.Addresses, loopback(ports[i]))
		line.Must(t, c.Start(name))
	}
	c.URL = "nats://" + strings.Join(c.Addresses, ",nats://")
	login := func(*nats.Options) error { return nil }
	if len(hub) > 0 {
		login = nats.UserInfo(HubUser, Password)
	}
	if c.Conn, err = nats.Connect(c.URL, login, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Conn.Close)
	if c.JetStream, err = jetstream.New(c.Conn); err != nil {
		t.Fatal(err)
	}
	return c
}

// Names returns the names of the members.
func (c *Cluster) Names() []string { return slices.Sorted(maps.Keys(c.members)) }

// Store is the folder of a member's files.
func (c *Cluster) Store(name string) string { return c.members[name].Store }

// Start starts a member with the files and ports that it had before.
func (c *Cluster) Start(name string) error {
	text, err := json.Marshal(c.members[name])
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env, cmd.Stderr = append(os.Environ(), memberVariable+"="+string(text)), os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.processes[name] = cmd
	return nil
}

// Kill ends a member as a crash would.
func (c *Cluster) Kill(name string) {
	_ = c.processes[name].Process.Kill()
	_ = c.processes[name].Wait() // it was killed
}

// PID returns the process of a member.
func (c *Cluster) PID(name string) int { return c.processes[name].Process.Pid }

// info returns who leads a stream and who follows.
func (c *Cluster) info(ctx context.Context, stream string) (*jetstream.ClusterInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	s, err := c.JetStream.Stream(ctx, stream)
	if err != nil {
		return nil, err
	}
	if found := s.CachedInfo().Cluster; found != nil && found.Leader != "" {
		return found, nil
	}
	return nil, errors.New("it has no leader")
}

// Leader returns who leads, once all replicas are there and know all.
func (c *Cluster) Leader(ctx context.Context, stream string) (name string, err error) {
	err = line.Poll(ctx, func(ctx context.Context) error {
		found, err := c.info(ctx, stream)
		if err != nil {
			return fmt.Errorf("who leads %s: %w", stream, err)
		}
		if len(found.Replicas) != Members-1 {
			return fmt.Errorf("%s has %d replicas beside its leader", stream, len(found.Replicas))
		}
		for _, r := range found.Replicas {
			if !r.Current || r.Offline {
				return fmt.Errorf("the replica of %s on %s is behind", stream, r.Name)
			}
		}
		name = found.Leader
		return nil
	})
	return name, err
}

// waitOther waits until somebody else leads.
func (c *Cluster) waitOther(ctx context.Context, stream, than string) error {
	return line.Poll(ctx, func(ctx context.Context) error {
		found, err := c.info(ctx, stream)
		if err == nil && found.Leader == than {
			err = fmt.Errorf("%s leads %s still", than, stream)
		}
		return err
	})
}

// KillLeader kills the member that leads, does something meanwhile, and starts the member again when another one leads.
func (c *Cluster) KillLeader(ctx context.Context, stream string, meanwhile func() error) error {
	name, err := c.Leader(ctx, stream)
	if err != nil {
		return err
	}
	c.Kill(name)
	return errors.Join(meanwhile(), c.waitOther(ctx, stream, name), c.Start(name))
}
