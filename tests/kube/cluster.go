package kube

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/tests/pki"
	"github.com/reroll-dev/reroll/tests/port"
)

// Options say what cluster to start. The zero value is a whole one with one node, without audit.
type Options struct {
	// Dir is where the cluster keeps its files. It must be empty or absent. Empty: a temporary one, which Stop removes.
	Dir string
	// Audit has the API server report writes. Nil: no audit.
	Audit *Audit
	// APIServerFlags stand after the API server's own and win over them.
	APIServerFlags []string
	// OwnNodes leaves the fake node out, and kwok: the caller brings nodes with kubelets.
	OwnNodes bool
	// ControlPlaneOnly leaves out all but etcd and the API server: objects are stored, served and reported, but nothing acts on
	// them. It starts in half the time.
	ControlPlaneOnly bool
}

// Cluster is a running control plane. Its methods may be called from several goroutines.
type Cluster struct {
	options  Options
	binaries Binaries
	dir      string
	ca       *pki.CA
	// etcd, peer and api are where etcd and the API server listen.
	etcd, peer, api address
	admin           *rest.Config
	client          kubernetes.Interface

	mu        sync.Mutex
	processes map[Part]*Program
	stopped   bool
	// attached is set for a control plane that another process has started and stops.
	attached bool
	// namespaces counts those that Namespace made.
	namespaces int
}

// address is a port of this machine's loopback, which package port keeps for this process.
type address string

// URL returns the address under a scheme.
func (a address) URL(scheme string) string { return scheme + "://" + string(a) }

func (a address) port() string { return strings.TrimPrefix(string(a), "127.0.0.1:") }

// startTimeout is how long a cluster may take to start once its parts are there; a loaded machine needs a good part of it.
const startTimeout = 3 * time.Minute

// Start starts a cluster and returns when it is ready for use; building the parts comes first if need be. The cluster lives until
// Stop, however ctx ends. Where REROLL_RIG names a shared control plane, Start returns that one.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if dir := SharedDir(); dir != "" {
		c, err := attach(ctx, dir, options)
		if err != nil {
			return nil, fmt.Errorf("use the shared control plane: %w", err)
		}
		return c, nil
	}
	binaries, err := Parts(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready after %s", startTimeout))
	defer cancel()
	c := &Cluster{options: options, binaries: binaries, processes: map[Part]*Program{}}
	if err := c.start(ctx); err != nil {
		c.Stop()
		return nil, fmt.Errorf("start a cluster: %w", err)
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	steps := []func(context.Context) error{c.makeDirs, c.reservePorts, c.makeIdentities, c.startEtcd, func(ctx context.Context) error { return c.StartAPIServer(ctx) }}
	if !c.options.ControlPlaneOnly {
		steps = append(steps, c.startControllers, c.addNodes, c.awaitControllers)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Stop kills all of the cluster's programs and removes its directory if that is a temporary one. Audit events that
// were not sent yet are lost; StopAPIServer before it sends them.
func (c *Cluster) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped || c.attached {
		return
	}
	c.stopped = true
	for _, p := range c.processes {
		p.Kill()
	}
	if c.options.Dir == "" && c.dir != "" {
		_ = os.RemoveAll(c.dir)
	}
}

func (c *Cluster) makeDirs(context.Context) error {
	var err error
	if c.dir, err = makeDir(c.options.Dir); err != nil {
		return fmt.Errorf("make the cluster's directory: %w", err)
	}
	return os.MkdirAll(c.file("logs"), 0o755)
}

// makeDir makes dir, or a temporary directory if dir is empty, and returns its absolute path.
func makeDir(dir string) (string, error) {
	if dir == "" {
		return os.MkdirTemp("", "reroll-kube-")
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		return "", fmt.Errorf("%s is not empty", dir)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

func (c *Cluster) reservePorts(context.Context) error {
	free, err := port.Addresses(3)
	if err != nil {
		return err
	}
	c.etcd, c.peer, c.api = address(free[0]), address(free[1]), address(free[2])
	return nil
}

// file returns the path of one of the cluster's own files.
func (c *Cluster) file(name string) string { return filepath.Join(c.dir, name) }

// launch runs a part with args. A part that runs already must not be launched again.
func (c *Cluster) launch(part Part, args ...string) (*Program, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil, fmt.Errorf("start %s: the cluster is stopped", part)
	}
	if p := c.processes[part]; p != nil && p.running() {
		return nil, fmt.Errorf("start %s: it runs already", part)
	}
	p, err := StartProgram(c.binaries.Path(part), args, c.file("logs"))
	if err != nil {
		return nil, err
	}
	c.processes[part] = p
	return p, nil
}

// process returns the process of a part that was launched.
func (c *Cluster) process(part Part) *Program {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.processes[part]
}
