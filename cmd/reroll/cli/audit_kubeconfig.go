package cli

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/reloader"
)

// auditPath is where Reroll takes the audit events of a cluster.
const auditPath = "/v1/audit/"

// auditKubeconfig is what goes into the file that tells an API server where to send audit events.
type auditKubeconfig struct {
	server, cluster, serverName string
	ca, cert, key, token        string
	embed                       bool
	// read returns the content of a file that is embedded.
	read         func(file string) ([]byte, error)
	distribution string
}

func auditKubeconfigCommand() *cobra.Command {
	k := auditKubeconfig{read: readFile}
	cmd := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the kubeconfig for --audit-webhook-config-file of the API server",
		Long: "Print the kubeconfig for --audit-webhook-config-file of the API server. Paths are those that the API server sees; it reads a certificate\n" +
			"and a token again when their files change, and embedded ones never. Besides it, give the API server these flags:\n" +
			"  --audit-webhook-mode=batch --audit-webhook-batch-max-wait=100ms --audit-webhook-truncate-enabled=true\n" +
			"With --for they stand in its head, with the place of the file, and ca.crt, client.crt and client.key are taken from beside it unless said otherwise.",
		Example: "  reroll audit kubeconfig --server https://10.96.0.50:9443 --cluster local --tls-server-name reroll-ingest.reroll.svc \\\n" +
			"    --certificate-authority /etc/kubernetes/reroll/ca.crt \\\n" +
			"    --client-certificate /etc/kubernetes/reroll/client.crt --client-key /etc/kubernetes/reroll/client.key > audit-webhook.yaml\n" +
			"  reroll audit kubeconfig --for kubeadm --server https://10.96.0.50:9443 --tls-server-name reroll-ingest.reroll.svc",
		Args:    cobra.NoArgs,
		PreRunE: k.placeFiles,
		RunE:    func(cmd *cobra.Command, _ []string) error { return k.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&k.server, "server", "", "address of Reroll's ingest, https://HOST:PORT, as the API server reaches it")
	f.StringVar(&k.cluster, "cluster", "local", "name of the cluster, as in --cluster-name of its dispatcher")
	f.StringVar(&k.serverName, "tls-server-name", "", "name in the ingest's certificate, if it is not the host of --server")
	f.StringVar(&k.ca, "certificate-authority", "", "file of the certificates that the ingest's own is signed by")
	f.StringVar(&k.cert, "client-certificate", "", "file of the API server's certificate, whose name is the cluster's or ends with .audit.reroll.dev")
	f.StringVar(&k.key, "client-key", "", "file of that certificate's key")
	f.StringVar(&k.token, "token-file", "", "file of the token from the ingest's --ingest-token-file, instead of a certificate")
	f.BoolVar(&k.embed, "embed", false, "put the files' contents, read here, into the kubeconfig; always with --for where the API server would not find them")
	bindDistribution(cmd, &k.distribution)
	_ = cmd.MarkFlagRequired("server")
	cmd.MarkFlagsRequiredTogether("client-certificate", "client-key")
	cmd.MarkFlagsMutuallyExclusive("client-certificate", "token-file")
	cmd.MarkFlagsOneRequired("client-certificate", "token-file")
	return cmd
}

// placeFiles fills in, for a distribution, what no flag says: ca.crt, client.crt and client.key in its folder; if they are embedded,
// those of the working folder.
func (k *auditKubeconfig) placeFiles(cmd *cobra.Command, _ []string) error {
	if k.distribution == "" {
		return nil
	}
	d, err := findDistribution(k.distribution)
	if err == nil {
		_, err = d.KubeconfigHeader()
	}
	if err != nil {
		return err
	}
	k.embed = k.embed || d.Embed
	files := map[string]string{"certificate-authority": "ca.crt"}
	if k.token == "" {
		files["client-certificate"], files["client-key"] = "client.crt", "client.key"
	}
	for flag, file := range files {
		if cmd.Flags().Changed(flag) {
			continue
		}
		if !k.embed {
			file = d.Path(file)
		}
		if err := cmd.Flags().Set(flag, file); err != nil {
			return err
		}
	}
	return nil
}

func (k *auditKubeconfig) run(cmd *cobra.Command) error {
	header := ""
	if k.distribution != "" {
		d, err := findDistribution(k.distribution)
		if err != nil {
			return err
		}
		if header, err = d.KubeconfigHeader(); err != nil {
			return err
		}
	}
	content, err := k.render()
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(append([]byte(header), content...))
	return err
}

func (k auditKubeconfig) render() ([]byte, error) {
	address, err := k.address()
	if err != nil {
		return nil, err
	}
	cluster, user := map[string]any{"server": address}, map[string]any{}
	if k.serverName != "" {
		cluster["tls-server-name"] = k.serverName
	}
	err = errors.Join(
		k.put(cluster, "certificate-authority", k.ca),
		k.put(user, "client-certificate", k.cert),
		k.put(user, "client-key", k.key),
		k.putToken(user),
	)
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "reroll",
		"clusters": []any{map[string]any{"name": "reroll", "cluster": cluster}},
		"users":    []any{map[string]any{"name": "apiserver", "user": user}},
		"contexts": []any{map[string]any{"name": "reroll", "context": map[string]any{"cluster": "reroll", "user": "apiserver"}}},
	})
}

// address returns where the events go. The API server drops a query, and sends no credentials without TLS.
func (k auditKubeconfig) address() (string, error) {
	if err := reloader.ValidateCluster(k.cluster); err != nil {
		return "", Usage(fmt.Errorf("--cluster: %w", err))
	}
	address, err := url.Parse(k.server)
	if err != nil || address.Scheme != "https" || address.Host == "" || address.RawQuery != "" || strings.Trim(address.Path, "/") != "" {
		return "", Usage(fmt.Errorf("--server: %q is not https://HOST:PORT", k.server))
	}
	return "https://" + address.Host + auditPath + k.cluster, nil
}

// put names a file, or embeds it as kubeconfigs do.
func (k auditKubeconfig) put(into map[string]any, field, file string) error {
	switch {
	case file == "":
		return nil
	case !k.embed:
		into[field] = file
		return nil
	}
	content, err := k.read(file)
	if err != nil {
		return fmt.Errorf("--%s: %w", field, err)
	}
	into[field+"-data"] = base64.StdEncoding.EncodeToString(content)
	return nil
}

func (k auditKubeconfig) putToken(user map[string]any) error {
	switch {
	case k.token == "":
		return nil
	case !k.embed:
		user["tokenFile"] = k.token
		return nil
	}
	content, err := k.read(k.token)
	if err != nil {
		return fmt.Errorf("--token-file: %w", err)
	}
	user["token"] = strings.TrimSpace(string(content))
	return nil
}
