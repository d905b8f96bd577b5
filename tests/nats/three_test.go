package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
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
	// members is how many servers a cluster has.
	members = 3
	// askTime bounds one question to a cluster that may have no leader.
	askTime = 2 * time.Second
)

// member is one server of a cluster, with its ports on the loopback address.
type member struct {
	Name, Store  string
	Client, Peer int
	Peers        []int
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// serveMember runs a server until the process is ended, if the environment says so. Otherwise it returns false.
func serveMember() bool {
	var m member
	if json.Unmarshal([]byte(os.Getenv(memberVariable)), &m) != nil {
		return false
	}
	routes := make([]*url.URL, len(m.Peers))
	for i, peer := range m.Peers {
		routes[i] = &url.URL{Scheme: "nats", Host: loopback(peer)}
	}
	s, err := server.NewServer(&server.Options{
		ServerName: m.Name, Host: "127.0.0.1", Port: m.Client, NoSigs: true, NoLog: true, Routes: routes,
		Cluster:   server.ClusterOpts{Name: "three", Host: "127.0.0.1", Port: m.Peer},
		JetStream: true, StoreDir: m.Store, SyncAlways: true, JetStreamMaxStore: 4 << 30, JetStreamMaxMemory: 64 << 20,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "NATS:", err)
		os.Exit(1)
	}
	s.Start()
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	<-end
	s.Shutdown()
	return true
}

// three is a NATS cluster of three processes.
type three struct {
	members   map[string]member
	processes map[string]*exec.Cmd
	url       string
	nc        *nats.Conn
	js        jetstream.JetStream
}

// startThree starts a cluster, has reroll nats setup make all streams of a cluster of Kubernetes in it, and returns when it has.
func startThree(ctx context.Context, t *testing.T, cluster string) *three {
	t.Helper()
	c := &three{members: map[string]member{}, processes: map[string]*exec.Cmd{}}
	t.Cleanup(func() {
		for name := range c.processes {
			c.kill(name)
		}
	})
	ports, err := port.Free(2 * members)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var addresses []string
	for i := range members {
		name := fmt.Sprint("n", i)
		c.members[name] = member{Name: name, Store: filepath.Join(dir, name), Client: ports[i], Peer: ports[members+i], Peers: ports[members:]}
		addresses = append(addresses, "nats://"+loopback(ports[i]))
		if err := c.start(name); err != nil {
			t.Fatal(err)
		}
	}
	c.url = strings.Join(addresses, ",")
	if c.nc, err = nats.Connect(c.url, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.nc.Close)
	if c.js, err = jetstream.New(c.nc); err != nil {
		t.Fatal(err)
	}
	err = line.Poll(ctx, func(context.Context) error {
		out, err := reroll(t, "nats", "setup", "--nats-url", c.url, "--cluster", cluster, "--nats-replicas", strconv.Itoa(members), "--nats-store-size", "1Gi")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// start starts a member with the files and ports that it had before.
func (c *three) start(name string) error {
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

// kill ends a member as a crash would.
func (c *three) kill(name string) {
	_ = c.processes[name].Process.Kill()
	_ = c.processes[name].Wait() // it was killed
}

// led is what has a leader: a stream, or one of its consumers.
type led struct{ stream, consumer string }

func (l led) String() string { return strings.TrimSuffix(l.stream+" "+l.consumer, " ") }

// stepDown is the subject on which its leader is asked to step down.
func (l led) stepDown() string {
	if l.consumer == "" {
		return "$JS.API.STREAM.LEADER.STEPDOWN." + l.stream
	}
	return "$JS.API.CONSUMER.LEADER.STEPDOWN." + l.stream + "." + l.consumer
}

// errNoLeader is what cluster fails with while somebody answers and nobody leads.
var errNoLeader = errors.New("it has no leader")

// cluster returns who leads and who follows.
func (c *three) cluster(ctx context.Context, l led) (*jetstream.ClusterInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var found *jetstream.ClusterInfo
	if l.consumer == "" {
		s, err := c.js.Stream(ctx, l.stream)
		if err != nil {
			return nil, err
		}
		found = s.CachedInfo().Cluster
	} else {
		s, err := c.js.Consumer(ctx, l.stream, l.consumer)
		if err != nil {
			return nil, err
		}
		found = s.CachedInfo().Cluster
	}
	if found == nil || found.Leader == "" {
		return nil, errNoLeader
	}
	return found, nil
}

// leader returns who leads, once all replicas are there and know all.
func (c *three) leader(ctx context.Context, l led) (name string, err error) {
	err = line.Poll(ctx, func(ctx context.Context) error {
		found, err := c.cluster(ctx, l)
		if err != nil {
			return fmt.Errorf("who leads %v: %w", l, err)
		}
		if len(found.Replicas) != members-1 {
			return fmt.Errorf("%v has %d replicas beside its leader", l, len(found.Replicas))
		}
		for _, r := range found.Replicas {
			if !r.Current || r.Offline {
				return fmt.Errorf("the replica of %v on %s is behind", l, r.Name)
			}
		}
		name = found.Leader
		return nil
	})
	return name, err
}

// waitOther waits until somebody else leads.
func (c *three) waitOther(ctx context.Context, l led, than string) error {
	return line.Poll(ctx, func(ctx context.Context) error {
		found, err := c.cluster(ctx, l)
		if err == nil && found.Leader == than {
			err = fmt.Errorf("%s leads %v still", than, l)
		}
		return err
	})
}

// killLeader kills the member that leads, and starts it again when another one leads.
func (c *three) killLeader(ctx context.Context, l led) error {
	name, err := c.leader(ctx, l)
	if err != nil {
		return err
	}
	c.kill(name)
	return errors.Join(c.waitOther(ctx, l, name), c.start(name))
}

// askToStepDown asks the leader to step down, and waits until another one leads.
func (c *three) askToStepDown(ctx context.Context, l led) error {
	name, err := c.leader(ctx, l)
	if err != nil {
		return err
	}
	if err := c.order(ctx, l, nil); err != nil {
		return fmt.Errorf("%s leads: %w", name, err)
	}
	return c.waitOther(ctx, l, name)
}

// order asks the leader to step down, as an order says.
func (c *three) order(ctx context.Context, l led, order []byte) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	answer, err := c.nc.RequestWithContext(ctx, l.stepDown(), order)
	if err != nil {
		return err
	}
	var said struct{ Success bool }
	if err := json.Unmarshal(answer.Data, &said); err != nil || !said.Success {
		return fmt.Errorf("the leader of %v answered %s", l, answer.Data)
	}
	return nil
}

// leadAll makes one member the leader of every stream.
func (c *three) leadAll(ctx context.Context, name string) error {
	streams := c.js.StreamNames(ctx)
	for stream := range streams.Name() {
		err := line.Poll(ctx, func(ctx context.Context) error {
			leader, err := c.leader(ctx, led{stream: stream})
			if err != nil || leader == name {
				return err
			}
			err = c.order(ctx, led{stream: stream}, fmt.Appendf(nil, `{"placement":{"preferred":%q}}`, name))
			return errors.Join(fmt.Errorf("%s leads %s, and %s has to", leader, stream, name), err)
		})
		if err != nil {
			return err
		}
	}
	return streams.Err()
}
