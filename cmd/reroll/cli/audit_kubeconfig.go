package cli

import (
	"fmt"
	"net/url"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/cmd/reroll/distribution"
)

// auditPath is where Reroll takes the audit events of a cluster.
const auditPath = "/v1/audit/"

// makeKubeconfig makes the kubeconfig of the webhook, with its files or their content.
func (a *auditFiles) makeKubeconfig() error {
	d := a.to
	address, err := url.Parse(a.server)
	// The API server drops a query, and sends no credentials without TLS.
	if err != nil || address.Scheme != "https" || address.Host == "" || address.RawQuery != "" || strings.Trim(address.Path, "/") != "" {
		return Usage(fmt.Errorf("--address: %q is not https://HOST:PORT", a.server))
	}
	cluster := map[string]any{"server": "https://" + address.Host + auditPath + a.content.Cluster, "tls-server-name": a.host()}
	user := map[string]any{}
	switch {
	case !d.Embed && a.token != nil:
		user["tokenFile"] = d.Path(distribution.TokenFile)
	case !d.Embed:
		user["client-certificate"], user["client-key"] = d.Path(distribution.CertFile), d.Path(distribution.KeyFile)
	case a.token != nil:
		user["token"] = string(a.token)
	default:
		user["client-certificate-data"], user["client-key-data"] = a.client.certificate, a.client.key
	}
	if d.Embed {
		cluster["certificate-authority-data"] = a.trusted
	} else {
		cluster["certificate-authority"] = d.Path(distribution.CAFile)
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
	a.content.Kubeconfig = d.KubeconfigHeader() + string(content)
	what := "where it posts that"
	switch {
	case d.Embed && a.token != nil:
		what += ", with a token; keep it secret"
	case d.Embed:
		what += ", with a private key; keep it secret"
	}
	a.add(distribution.KubeconfigFile, what, []byte(a.content.Kubeconfig))
	return nil
}
