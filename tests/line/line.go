// Package line runs the whole line for tests, demo and benchmarks: a real control plane whose audit webhook is a real reroll
// process over mutual TLS.
//
// It knows Reroll from outside alone: its command line, its REST API, its metrics and its log.
package line

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/pki"
	"github.com/reroll-dev/reroll/tests/port"
)

// ClusterName is what the line's cluster is called.
const ClusterName = "local"

// Options say what line to start. The zero value is a whole cluster that sends audit events every 20 ms, and a reroll with the
// defaults of its flags, but for --source audit: what a test sees then is the doing of the audit feed and of sweeps.
type Options struct {
	// Cluster is what the cluster is called. Empty: ClusterName.
	Cluster string
	// Kube is the cluster; its Audit is filled in, keeping Level, BatchMaxWait and Throttle.
	Kube kube.Options
	// Flags stand after the ones that Start itself gives to `reroll serve`, and win over them.
	Flags []string
	// Environment is added to that of reroll.
	Environment []string
}

// Line is a running cluster with its reroll.
type Line struct {
	Kube *kube.Cluster
	// Reroll is the process that has the REST API.
	Reroll *Reroll
	// Ingest and Dispatch are the processes of these roles if each has its own, and otherwise nil.
	Ingest, Dispatch *Reroll
	replicas         []*Reroll
	dir              string
	sender           sender
}

// Start starts a line and returns when reroll is ready.
func Start(ctx context.Context, o Options) (*Line, error) {
	dir, err := os.MkdirTemp("", "reroll-line-")
	if err != nil {
		return nil, err
	}
	l := &Line{dir: dir}
	if err := l.start(ctx, o); err != nil {
		l.Stop()
		return nil, err
	}
	return l, nil
}

func (l *Line) start(ctx context.Context, o Options) error {
	o.Cluster = cmp.Or(o.Cluster, ClusterName)
	addresses, err := port.Addresses(3)
	if err != nil {
		return err
	}
	files, err := l.startSource(ctx, o, &addresses[0])
	if err != nil {
		return err
	}
	l.Reroll = &Reroll{
		dir: l.dir, ingest: addresses[0], API: "http://" + addresses[1], Ops: "http://" + addresses[2], environment: o.Environment,
		arguments: append([]string{
			"serve", "--kubeconfig", l.Kube.Kubeconfig(), "--set", "namespace=default", "--cluster-name", o.Cluster, "--source", "audit",
			"--data-dir", filepath.Join(l.dir, "data"),
			"--ingest-address", addresses[0], "--api-address", addresses[1], "--metrics-address", addresses[2],
		}, append(files.flags(), o.Flags...)...),
	}
	if l.Reroll.binary, err = Build(ctx); err != nil {
		return err
	}
	if err := l.Reroll.Start(); err != nil {
		return err
	}
	return l.Reroll.WaitReady(ctx)
}

// startSource starts a cluster that sends its audit events to an address, or takes the shared one, which sends them to an address of its own.
func (l *Line) startSource(ctx context.Context, o Options, ingest *string) (files certificates, err error) {
	var ca *pki.CA
	if dir := kube.SharedDir(); dir != "" {
		ca, *ingest, err = readShared(dir)
	} else {
		ca, err = pki.NewCA("audit")
	}
	if err == nil {
		files, err = issue(ca, l.dir, o.Cluster)
	}
	if err != nil {
		return files, fmt.Errorf("prepare the audit feed: %w", err)
	}
	return files, l.startKube(ctx, o, files, *ingest)
}

// startKube starts a cluster that sends its audit events to an address.
func (l *Line) startKube(ctx context.Context, o Options, files certificates, ingest string) (err error) {
	audit := kube.Audit{}
	if o.Kube.Audit != nil {
		audit = *o.Kube.Audit
	}
	audit.URL = "https://" + ingest + "/v1/audit/" + o.Cluster
	audit.CAPEM, audit.Client = files.ca, files.client
	l.sender = sender{ca: files.ca, pair: files.client, ingest: ingest, cluster: o.Cluster}
	o.Kube.Audit = &audit
	if l.Kube, err = kube.Start(ctx, o.Kube); err != nil {
		return fmt.Errorf("start the cluster: %w", err)
	}
	return nil
}

// stopTime bounds how long reroll may take to drain.
const stopTime = 30 * time.Second

// Stop ends reroll and the cluster and removes their files.
func (l *Line) Stop() {
	for _, r := range append([]*Reroll{l.Ingest, l.Dispatch, l.Reroll}, l.replicas...) {
		if r == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), stopTime)
		_ = r.Terminate(ctx) // an orderly end is tested where it matters
		cancel()
		r.Kill()
	}
	keepLog(l)
	if l.Kube != nil {
		l.Kube.Stop()
	}
	_ = os.RemoveAll(l.dir)
}

// DataDir is where reroll's embedded NATS keeps its files.
func (l *Line) DataDir() string { return filepath.Join(l.dir, "data") }

// Barrier waits until the dispatcher of the line has nothing in flight in a namespace: every write before the call is decided, and what follows from that
// is done or held back.
func (l *Line) Barrier(ctx context.Context, namespace string) error {
	err := Poll(ctx, func(ctx context.Context) error {
		var pending error
		for _, r := range append([]*Reroll{l.Dispatch, l.Reroll}, l.replicas...) { // one that does not lead is not ready for it
			if r == nil || r.PID() == 0 {
				continue
			}
			code, answer, err := r.Probe(ctx, "/barrier?namespace="+namespace)
			if err == nil && code == http.StatusOK {
				return nil
			}
			pending = errors.Join(pending, err, fmt.Errorf("%d: %s", code, answer))
		}
		return pending
	})
	if err != nil {
		return fmt.Errorf("barrier of namespace %s: %w", namespace, err)
	}
	return nil
}

// suiteTime bounds the start of a line and all tests on it.
const suiteTime = time.Hour

// Main runs the tests of a package on one line, which it puts into shared, and ends the process. prepare, if not nil, comes before the tests.
func Main(m *testing.M, shared **Line, o Options, prepare func(ctx context.Context, l *Line) error) {
	code, err := onLine(m, shared, o, prepare)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func onLine(m *testing.M, shared **Line, o Options, prepare func(ctx context.Context, l *Line) error) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), suiteTime)
	defer cancel()
	l, err := Start(ctx, o)
	if err != nil {
		return 1, err
	}
	defer l.Stop()
	if *shared = l; prepare != nil {
		if err := prepare(ctx, l); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}
