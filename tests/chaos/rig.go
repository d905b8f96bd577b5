package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
	"github.com/reroll-dev/reroll/tests/pki"
	"github.com/reroll-dev/reroll/tests/port"
)

// clusterName is what the cluster is called.
const clusterName = "local"

// rig is a control plane, a proxy behind its audit webhook, and the processes of Reroll and NATS, each of which comes back when it
// ends.
type rig struct {
	dir      string
	kube     *kube.Cluster
	proxy    *proxy
	programs []*program
	// link is what lies between Reroll and an external NATS; nil if there is none.
	link *port.Link
	// ops are where those of Reroll say whether they are ready, and api is where one answers.
	ops []string
	api string

	// keep leaves the files, logs among them, where they are.
	keep bool

	cancel  context.CancelFunc
	running sync.WaitGroup
}

// newRig starts the control plane and the proxy. The programs are started by launch.
func newRig(ctx context.Context, o options) (r *rig, err error) {
	r = &rig{cancel: func() {}}
	if r.dir, err = os.MkdirTemp("", "reroll-chaos-"); err != nil {
		return nil, err
	}
	if err := r.start(ctx, o); err != nil {
		r.stop()
		return nil, err
	}
	return r, nil
}

func (r *rig) start(ctx context.Context, o options) error {
	addresses, err := port.Addresses(9)
	if err != nil {
		return err
	}
	ca, err := pki.NewCA("audit")
	if err != nil {
		return err
	}
	apiServer, err := ca.Client("kube-apiserver")
	if err != nil {
		return err
	}
	if r.proxy, err = startProxy(addresses[0], addresses[1], ca, newDice(o.Seed, 1)); err != nil {
		return err
	}
	r.kube, err = kube.Start(ctx, kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{
		URL: "https://" + addresses[0] + "/v1/audit/" + clusterName, CAPEM: ca.CertPEM(), Client: apiServer,
		InitialBackoff: 300 * time.Millisecond,
	}})
	if err != nil {
		return err
	}
	return r.layOut(ctx, o, ca, addresses[1:])
}

// layOut says which programs there are.
func (r *rig) layOut(ctx context.Context, o options, ca *pki.CA, addresses []string) error {
	binary, err := line.Build(ctx)
	if err != nil {
		return err
	}
	server, err := ca.Server("reroll", "127.0.0.1")
	if err != nil {
		return err
	}
	files := map[string][]byte{"server.crt": server.CertPEM, "server.key": server.KeyPEM, "ca.crt": ca.CertPEM()}
	for name, content := range files {
		if err := os.WriteFile(r.file(name), content, 0o600); err != nil {
			return err
		}
	}
	ingest := []string{
		"--ingest-address", addresses[0], "--set", "ingest.tlsCert=" + r.file("server.crt"), "--set", "ingest.tlsKey=" + r.file("server.key"),
		"--set", "ingest.tlsClientCA=" + r.file("ca.crt"),
	}
	dispatch := []string{
		"--kubeconfig", r.kube.Kubeconfig(), "--set", "namespace=default", "--cluster-name", clusterName, "--source", "audit",
		"--set", "debounce.window=" + o.Window.String(), "--set", "resyncInterval=" + o.Sweep.String(), "--set", "rolloutLimits.flapLimit=0",
		"--set", "hotReload.enabled=true", "--set", "hotReload.settle=" + hotSettle.String(),
	}
	r.api = "http://" + addresses[5]
	if !o.Roles {
		r.api = "http://" + addresses[2]
		serve := slices.Concat([]string{"serve", "--data-dir", r.file("data"), "--api-address", addresses[2]}, ingest, dispatch)
		r.add("serve", binary, addresses[1], serve)
		return nil
	}
	if err := r.addNATS(addresses[6], addresses[7]); err != nil {
		return err
	}
	nats := []string{"--set", "nats.url=nats://" + addresses[7]}
	r.add("ingest", binary, addresses[1], slices.Concat([]string{"serve", "--components=ingest"}, nats, ingest))
	if o.HA {
		r.add("dispatch-1", binary, addresses[2], slices.Concat([]string{"serve", "--components=dispatch", "--set=leaderElection=true"}, nats, dispatch), "POD_NAME=one", "POD_NAMESPACE=default")
		r.add("dispatch-2", binary, addresses[3], slices.Concat([]string{"serve", "--components=dispatch", "--set=leaderElection=true"}, nats, dispatch), "POD_NAME=two", "POD_NAMESPACE=default")
	} else {
		r.add("dispatch", binary, addresses[2], slices.Concat([]string{"serve", "--components=dispatch"}, nats, dispatch))
	}
	r.add("api", binary, addresses[4], slices.Concat([]string{"serve", "--components=api", "--api-address", addresses[5]}, nats))
	return nil
}

// addNATS adds a server at an address, and a link to it.
func (r *rig) addNATS(address, link string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	env := []string{natsserver.Environment(int(at.Port()), r.file("nats"))}
	r.programs = append(r.programs, &program{name: "nats", binary: self, env: env, logFile: r.file("nats.log")})
	r.link = &port.Link{}
	_, err = r.link.Carry(link, address)
	return err
}

func (r *rig) add(name, binary, ops string, args []string, env ...string) {
	args = append(args, "--metrics-address", ops)
	r.programs = append(r.programs, &program{name: name, binary: binary, args: args, env: env, logFile: r.file(name + ".log")})
	r.ops = append(r.ops, "http://"+ops)
}

func (r *rig) file(name string) string { return filepath.Join(r.dir, name) }

// readyTime bounds how long all of Reroll may take to be ready.
const readyTime = 90 * time.Second

// launch starts the programs and returns when those of Reroll are ready.
func (r *rig) launch(ctx context.Context) error {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.cancel = cancel
	for _, p := range r.programs {
		r.running.Go(func() {
			if err := p.keep(life); err != nil {
				fmt.Fprintln(os.Stderr, "chaos:", err)
			}
		})
	}
	return r.waitReady(ctx)
}

// waitReady waits until all of Reroll is ready.
func (r *rig) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	var errs []error
	for _, ops := range r.ops {
		errs = append(errs, (&line.Reroll{Ops: ops}).WaitReady(ctx))
	}
	return errors.Join(errs...)
}

// stop ends everything, and removes its files unless keep is set.
func (r *rig) stop() {
	r.cancel()
	r.running.Wait()
	if r.link != nil {
		r.link.Stop()
	}
	if r.kube != nil {
		r.kube.Stop()
	}
	if r.proxy != nil {
		r.proxy.stop()
	}
	if r.keep {
		fmt.Fprintln(os.Stderr, "chaos: the logs are kept in", r.dir)
		return
	}
	_ = os.RemoveAll(r.dir)
}

// connect gives w clients that never hold back.
func (r *rig) connect(w *world) error {
	config := r.kube.RESTConfig()
	config.QPS = -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return sameAuditID{next} })
	var err error
	w.client = r.kube.Client()
	w.dynamic, err = dynamic.NewForConfig(config)
	return err
}

// sameAuditID gives every request the same audit ID: clients choose it, so that it tells no two requests apart.
type sameAuditID struct{ next http.RoundTripper }

// RoundTrip sends a request.
func (t sameAuditID) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Audit-ID", "always-the-same")
	return t.next.RoundTrip(r)
}
