package kube

import (
	"context"
	_ "embed"
	"os"
	"slices"
	"strings"
)

//go:embed stages.yaml
var stages []byte

// Addresses of Services, and that of the API server's own, under which pods know it.
const (
	serviceRange   = "10.0.0.0/24"
	serviceAddress = "10.0.0.1"
)

// clientLimits lift the rate limits of the programs that act on objects: a test is not to measure those.
var clientLimits = []string{"--kube-api-qps=1000", "--kube-api-burst=2000"}

func (c *Cluster) startEtcd(ctx context.Context) error {
	client, peer := c.etcd.URL("http"), c.peer.URL("http")
	p, err := c.launch(Etcd,
		"--name=rig", "--data-dir="+c.file("etcd"),
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=rig="+peer,
		"--log-level=warn", "--unsafe-no-fsync=true",
	)
	if err != nil {
		return err
	}
	return p.Await(ctx, httpOK(client+"/readyz"))
}

// StartAPIServer starts the API server on its port, with its old data, and returns when it is ready. Start has done so already: this
// is for after StopAPIServer or KillAPIServer. more flags stand after all others.
func (c *Cluster) StartAPIServer(ctx context.Context, more ...string) error {
	audit, err := c.options.Audit.flags(c.dir)
	if err != nil {
		return err
	}
	p, err := c.launch(APIServer, slices.Concat(c.apiServerFlags(), audit, c.options.APIServerFlags, more)...)
	if err != nil {
		return err
	}
	return p.Await(ctx, c.apiReady)
}

func (c *Cluster) apiServerFlags() []string {
	// Without the node lifecycle controller, new nodes keep their taint.
	admissionOff := []string{"TaintNodesByCondition"}
	if c.options.ControlPlaneOnly {
		// It would wait for service accounts that no controller creates.
		admissionOff = append(admissionOff, "ServiceAccount")
	}
	return []string{
		"--etcd-servers=" + c.etcd.URL("http"),
		"--bind-address=127.0.0.1", "--secure-port=" + c.api.port(),
		// Without these two it looks for a default route and publishes an address that pods would use.
		"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
		"--tls-cert-file=" + c.file(servingCertFile), "--tls-private-key-file=" + c.file(servingKeyFile),
		"--client-ca-file=" + c.file(caFile),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.file(serviceAccountFile),
		"--service-account-signing-key-file=" + c.file(serviceAccountKeyFile),
		"--authorization-mode=RBAC",
		"--service-cluster-ip-range=" + serviceRange,
		// By default it leaves watches alone when it is asked to end, and gives up on them after a minute.
		"--shutdown-watch-termination-grace-period=1s",
		"--disable-admission-plugins=" + strings.Join(admissionOff, ","),
	}
}

// StopAPIServer asks the API server to end and waits until it has: it ends its requests and sends the audit events it holds first,
// which takes 80 seconds and more with the default back-off if the receiver is down. It is killed if ctx ends before. Connections to
// its port are refused from then on.
func (c *Cluster) StopAPIServer(ctx context.Context) error {
	return c.process(APIServer).terminate(ctx)
}

// KillAPIServer ends the API server at once, as a crash would: audit events that it holds are lost.
func (c *Cluster) KillAPIServer() { c.process(APIServer).Kill() }

// startControllers starts the programs that act on objects; they need not be ready at once.
func (c *Cluster) startControllers(context.Context) error {
	if err := os.WriteFile(c.file("stages.yaml"), stages, 0o600); err != nil {
		return err
	}
	programs := map[Part][]string{
		ControllerManager: slices.Concat(clientLimits, []string{
			"--leader-elect=false", "--secure-port=0", "--use-service-account-credentials",
			"--root-ca-file=" + c.file(caFile),
			"--service-account-private-key-file=" + c.file(serviceAccountKeyFile),
			"--cluster-signing-cert-file=" + c.file(caFile), "--cluster-signing-key-file=" + c.file(caKeyFile),
			// This controller would evict the pods of a node without a renewed Lease.
			"--controllers=*,-node-lifecycle-controller",
		}),
		Scheduler: slices.Concat(clientLimits, []string{"--leader-elect=false", "--secure-port=0"}),
		Kwok:      {"--config=" + c.file("stages.yaml")},
	}
	if c.options.OwnNodes {
		delete(programs, Kwok)
	}
	for part, flags := range programs {
		if _, err := c.launch(part, append(flags, "--kubeconfig="+c.kubeconfigFile(part))...); err != nil {
			return err
		}
	}
	return nil
}
