package fleet

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

// node, in the environment, makes this program one server of a NATS cluster, so that it can be killed as a process.
const node = "FLEET_NATS"

// nodeOptions are those of one server.
type nodeOptions struct {
	Name, Store  string
	Client, Peer int
	Peers        []int
}

// serveNATS runs a server until the process is ended, if the environment says so. Otherwise it returns false.
func serveNATS() bool {
	var o nodeOptions
	if json.Unmarshal([]byte(os.Getenv(node)), &o) != nil {
		return false
	}
	routes := make([]*url.URL, len(o.Peers))
	for i, peer := range o.Peers {
		routes[i] = &url.URL{Scheme: "nats", Host: address(peer)}
	}
	s, err := server.NewServer(&server.Options{
		ServerName: o.Name, Host: "127.0.0.1", Port: o.Client, NoSigs: true, NoLog: true, Routes: routes,
		Cluster:   server.ClusterOpts{Name: "hub", Host: "127.0.0.1", Port: o.Peer, NoAdvertise: true}, // nobody shall go around the link
		JetStream: true, StoreDir: o.Store, JetStreamMaxStore: 4 << 30, JetStreamMaxMemory: 64 << 20, SyncAlways: true,
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

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// hub is a NATS cluster of three processes.
type hub struct {
	t         *testing.T
	options   []nodeOptions
	processes map[string]*exec.Cmd
	js        jetstream.JetStream
}

const nodes = 3

func startHub(ctx context.Context, t *testing.T) *hub {
	t.Helper()
	h := &hub{t: t, processes: map[string]*exec.Cmd{}}
	ports, err := port.Free(2 * nodes)
	must(t, err)
	for i := range nodes {
		h.options = append(h.options, nodeOptions{
			Name: fmt.Sprint("n", i), Store: filepath.Join(t.TempDir(), "nats"), Client: ports[i], Peer: ports[nodes+i], Peers: ports[nodes:],
		})
		h.start(h.options[i])
	}
	t.Cleanup(func() {
		for _, cmd := range h.processes {
			end(cmd)
		}
	})
	nc, err := nats.Connect(h.url(), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if h.js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	must(t, line.Poll(ctx, func(ctx context.Context) error {
		_, err := run(ctx, "nats", "setup", "--nats-url", h.url(), "--role", "hub", "--nats-replicas", strconv.Itoa(nodes), "--nats-store-size", "1Gi")
		return err
	}))
	return h
}

func end(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
}

func (h *hub) start(o nodeOptions) {
	h.t.Helper()
	text, err := json.Marshal(o)
	must(h.t, err)
	self, err := os.Executable()
	must(h.t, err)
	cmd := exec.Command(self)
	cmd.Env, cmd.Stderr = append(os.Environ(), node+"="+string(text)), os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(h.t, cmd.Start())
	h.processes[o.Name] = cmd
}

func (h *hub) addresses() []string {
	all := make([]string, len(h.options))
	for i, o := range h.options {
		all[i] = address(o.Client)
	}
	return all
}

func (h *hub) url() string { return "nats://" + strings.Join(h.addresses(), ",nats://") }

var errNoLeader = errors.New("the stream has no leader, or a replica that is behind")

// leader returns who leads a stream once all its replicas are there.
func (h *hub) leader(ctx context.Context, stream string) (name string, err error) {
	err = line.Poll(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		s, err := h.js.Stream(ctx, stream)
		if err != nil {
			return err
		}
		c := s.CachedInfo().Cluster
		if c == nil || c.Leader == "" || len(c.Replicas) != nodes-1 {
			return errNoLeader
		}
		for _, r := range c.Replicas {
			if !r.Current || r.Offline {
				return errNoLeader
			}
		}
		name = c.Leader
		return nil
	})
	return name, err
}

// killLeader kills the server that leads a stream, does something meanwhile, and starts the server again when another one leads.
func (h *hub) killLeader(ctx context.Context, stream string, meanwhile func() error) error {
	name, err := h.leader(ctx, stream)
	if err != nil {
		return err
	}
	end(h.processes[name])
	if err := meanwhile(); err != nil {
		return err
	}
	err = line.Poll(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		s, err := h.js.Stream(ctx, stream)
		if err == nil && (s.CachedInfo().Cluster == nil || s.CachedInfo().Cluster.Leader == name || s.CachedInfo().Cluster.Leader == "") {
			err = errNoLeader
		}
		return err
	})
	for _, o := range h.options {
		if o.Name == name {
			h.start(o)
		}
	}
	return err
}

// arrivals are the records of a cluster in a stream of the hub.
type arrivals struct {
	// first is when the hub had the first word with each ID. There may be more: who did it is a later word, and what became of a reload.
	first map[string]time.Time
	// times counts each place in the stream of the cluster that a word comes from, and each word: more than one was brought or stored twice.
	times map[string]int
}

// arrived reads what the hub has of a cluster.
func (h *hub) arrived(ctx context.Context, stream, filter string) (arrivals, error) {
	a := arrivals{first: map[string]time.Time{}, times: map[string]int{}}
	consumer, err := h.js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{filter}})
	if err != nil {
		return a, err
	}
	for {
		batch, err := consumer.FetchNoWait(1000)
		if err != nil {
			return a, err
		}
		n := 0
		for m := range batch.Messages() {
			if err := a.add(m); err != nil {
				return a, err
			}
			n++
		}
		if n == 0 {
			return a, batch.Error()
		}
	}
}

func (a arrivals) add(m jetstream.Msg) error {
	var r struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(m.Data(), &r); err != nil {
		return err
	}
	meta, err := m.Metadata()
	if err != nil {
		return err
	}
	if _, known := a.first[r.ID]; !known {
		a.first[r.ID] = meta.Timestamp
	}
	origin := m.Headers().Get("Reroll-Origin")
	if origin == "" {
		return line.Stop(fmt.Errorf("%s does not say where it comes from", r.ID))
	}
	a.times[r.ID+" of "+origin]++
	a.times[string(m.Data())]++
	return nil
}
