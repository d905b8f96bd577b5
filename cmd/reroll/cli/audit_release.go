package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/cmd/reroll/certificate"
	"github.com/reroll-dev/reroll/cmd/reroll/distribution"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/kube"
)

// takeRelease takes over what the release says, and makes what proves to ingest whose events they are.
func (s *auditSetup) takeRelease(ctx context.Context) (err error) {
	s.from, err = s.find(ctx)
	if errors.Is(err, kube.ErrNoRelease) {
		return fmt.Errorf("%w: install the chart with source=auto or source=audit, or name the namespace with --reroll-namespace", err)
	}
	if err != nil {
		return err
	}
	c := &s.content
	c.Release, c.Namespace, c.Cluster = s.from.Release, s.from.Namespace, cmp.Or(s.cluster, s.from.Cluster)
	c.Ingest = net.JoinHostPort(s.host(), strconv.Itoa(int(s.from.Port)))
	if c.Cluster == "" {
		return usagef("the Service %s/%s has no annotation reroll.dev/cluster: set --cluster to the clusterName of the dispatcher", c.Namespace, s.from.Service)
	}
	if err := reloader.ValidateCluster(c.Cluster); err != nil {
		return usagef("the name of the cluster: %w", err)
	}
	if s.from.Cluster != "" && c.Cluster != s.from.Cluster {
		s.warn("the release's cluster is named %s, not %s: its dispatcher does not process events of %[2]s", s.from.Cluster, c.Cluster)
	}
	if s.server == "" && s.to.Dir != "" {
		if s.server, err = s.address(); err != nil {
			return err
		}
	}
	secret, name := s.from.Namespace+"/"+s.from.Secret, c.Cluster+auditDomain
	switch {
	case s.from.Data != nil:
		s.client, err = certificate.IssueClient(s.from.Data, name, clientLifetime, s.now())
		if err != nil {
			return fmt.Errorf("the CA in Secret %s: %w", secret, err)
		}
	case s.to.Embed:
		return fmt.Errorf("found no Secret %s of Reroll: the release uses your own certificate. The kubeconfig needs a client certificate for %s, or a token of ingest.tokenFile: see %s",
			secret, name, s.to.Guide())
	default:
		s.warn("found no Secret %s of Reroll: the release uses your own certificate. Add %s, and %s and %s for %s, which your CA has signed",
			secret, distribution.CAFile, distribution.CertFile, distribution.KeyFile, name)
	}
	return nil
}

// host is the name of the ingest's Service, which its certificate has.
func (s *auditSetup) host() string { return s.from.Service + "." + s.from.Namespace + ".svc" }

// address finds an address of the ingest that the API server reaches: it does not resolve names of Services.
func (s *auditSetup) address() (string, error) {
	at := func(host string, port int32) string {
		return "https://" + net.JoinHostPort(host, strconv.Itoa(int(port)))
	}
	switch from := s.from; {
	case from.Type == corev1.ServiceTypeLoadBalancer && len(from.Balancers) > 0:
		return at(from.Balancers[0], from.Port), nil
	case s.to.Name == "k0s":
		return "", fmt.Errorf("a controller of k0s reaches no ClusterIP: set ingest.service.type=NodePort in the chart's values, and give --address https://WORKER:%d", max(from.NodePort, 30000))
	case from.Type == corev1.ServiceTypeNodePort:
		s.warn("the address is a NodePort on 127.0.0.1, which kube-proxy in mode nftables does not serve: with that mode, set --address to the address of a node")
		return at("127.0.0.1", from.NodePort), nil
	case from.Type == corev1.ServiceTypeLoadBalancer || from.ClusterIP == "":
		return "", fmt.Errorf("the Service %s/%s has no address yet: wait for it, or give --address", from.Namespace, from.Service)
	default:
		return at(from.ClusterIP, from.Port), nil
	}
}

// makeKubeconfig makes the kubeconfig of the webhook, with the names of its files or their content.
func (s *auditSetup) makeKubeconfig() error {
	d := s.to
	address, err := url.Parse(s.server)
	// The API server drops a query, and sends no credentials without TLS.
	if err != nil || address.Scheme != "https" || address.Host == "" || address.RawQuery != "" || strings.Trim(address.Path, "/") != "" {
		return usagef("--address: %q is not https://HOST:PORT", s.server)
	}
	cluster := map[string]any{"server": "https://" + address.Host + "/v1/audit/" + s.content.Cluster, "tls-server-name": s.host()}
	user, what := map[string]any{}, "where it posts that"
	if d.Embed {
		cluster["certificate-authority-data"] = s.client.CA
		user["client-certificate-data"], user["client-key-data"] = s.client.Certificate, s.client.Key
		what += ", with a private key; keep it secret"
	} else {
		cluster["certificate-authority"] = d.Path(distribution.CAFile)
		user["client-certificate"], user["client-key"] = d.Path(distribution.CertFile), d.Path(distribution.KeyFile)
	}
	content, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "reroll",
		"clusters": []any{map[string]any{"name": "reroll", "cluster": cluster}},
		"users":    []any{map[string]any{"name": "apiserver", "user": user}},
		"contexts": []any{map[string]any{"name": "reroll", "context": map[string]any{"cluster": "reroll", "user": "apiserver"}}},
	})
	if err != nil {
		return err
	}
	s.content.Kubeconfig = d.Header(distribution.KubeconfigFile) + string(content)
	s.add(distribution.KubeconfigFile, what, []byte(s.content.Kubeconfig))
	return nil
}
