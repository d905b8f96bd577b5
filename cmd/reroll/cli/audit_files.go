package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit/policy"
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
			secret, name, distribution.Guide)
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
	user := map[string]any{}
	if d.Embed {
		cluster["certificate-authority-data"] = s.client.CA
		user["client-certificate-data"], user["client-key-data"] = s.client.Certificate, s.client.Key
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
	s.files[distribution.KubeconfigFile] = []byte(s.content.Kubeconfig)
	return nil
}

// systemNamespaces are those whose configs change all the time and are seldom anybody's to reload.
var systemNamespaces = []string{"kube-system", "kube-public", "kube-node-lease"}

// reported returns the resources of an audit policy for the kinds of config that are external, or are not.
func reported(external ...bool) (resources string) {
	for _, of := range reloader.ConfigKindTable {
		if slices.Contains(external, of.Kind.External()) {
			resources += fmt.Sprintf("\n      - {group: %q, resources: [%s]}", of.Group, of.TellingResource())
		}
	}
	return resources
}

// reportingRules report who wrote which config, and never its content.
var reportingRules = `  # Who wrote which config, never its content.
  - level: Metadata
    verbs: [create, update, patch, delete, deletecollection]
    resources:` + reported(false) + `
  # What the Secrets Store CSI driver has rotated, for --enable-csi-integration.
  - level: Metadata
    verbs: [update, patch]
    resources:` + reported(true) + `
`

// ownPolicy returns an audit policy that reports writes of configs, and nothing else. Canaries are written to Reroll's own namespace, which therefore
// is never left out.
func ownPolicy(own string) string {
	quiet := slices.DeleteFunc(slices.Clone(systemNamespaces), func(name string) bool { return name == own })
	return `apiVersion: audit.k8s.io/v1
kind: Policy
omitManagedFields: true
omitStages: [RequestReceived, ResponseStarted]
rules:
  # The controller that copies kube-root-ca.crt into every namespace.
  - level: None
    users: ["system:serviceaccount:kube-system:root-ca-cert-publisher"]
    resources: [{group: "", resources: [configmaps]}]
  # Churn of the system's own configs. Delete this rule to reload workloads there.
  - level: None
    namespaces: [` + strings.Join(quiet, ", ") + `]
    resources:` + reported(false, true) + `
` + reportingRules + "  - level: None\n"
}

// withOurRules returns a policy with the reporting rules in front of its own. Its comments are lost.
func withOurRules(content []byte) (string, error) {
	var theirs, ours auditv1.Policy
	if err := yaml.UnmarshalStrict(content, &theirs); err != nil {
		return "", fmt.Errorf("it is not an audit policy: %w", err)
	}
	if _, err := policy.LoadPolicyFromBytes(content); err != nil {
		return "", fmt.Errorf("the API server would not start with it: %w", err)
	}
	if slices.Contains(theirs.OmitStages, auditv1.StageResponseComplete) {
		return "", fmt.Errorf("its omitStages leave out %s for every rule, and Reroll needs that stage: move omitStages into the rules of the policy", auditv1.StageResponseComplete)
	}
	if err := yaml.UnmarshalStrict([]byte("rules:\n"+reportingRules), &ours); err != nil {
		return "", err
	}
	for i := range ours.Rules {
		ours.Rules[i].OmitStages = []auditv1.Stage{auditv1.StageRequestReceived, auditv1.StageResponseStarted}
	}
	theirs.Rules = append(ours.Rules, theirs.Rules...)
	merged, err := yaml.Marshal(theirs)
	return string(merged), err
}

// makePolicy makes the policy, with the rules of another one behind ours if there is one.
func (s *auditSetup) makePolicy() error {
	text := ownPolicy(s.content.Namespace)
	if s.policy != "" {
		content, err := os.ReadFile(s.policy)
		if err == nil {
			text, err = withOurRules(content)
		}
		if err != nil {
			return fmt.Errorf("--policy: %s: %w", s.policy, err)
		}
		s.warn("the first rule that matches decides: writes of ConfigMaps and Secrets are reported without content, whatever the rules of %s say", s.policy)
	}
	s.content.Policy = s.to.Header(distribution.PolicyFile) + text
	s.files[distribution.PolicyFile] = []byte(s.content.Policy)
	return nil
}
