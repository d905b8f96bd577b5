package kube

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/reroll-dev/reroll/tests/pki"
)

// defaultBatchMaxWait is short, so that tests do not wait; production uses about 100 ms.
const defaultBatchMaxWait = 20 * time.Millisecond

// Audit has the API server send audit events to a webhook. It starts even if nothing listens at URL yet.
type Audit struct {
	// URL of the receiver. The API server drops a query.
	URL string
	// CAPEM holds the certificates that the receiver's own must be signed by. Empty: those of the system.
	CAPEM []byte
	// Client is the certificate that the API server shows. Empty: none.
	Client pki.KeyPair
	// Level of the events about writes to ConfigMaps and Secrets. Empty: Metadata.
	Level auditv1.Level
	// BatchMaxWait is how long the API server collects events before it sends them. 0: 20 ms.
	BatchMaxWait time.Duration
	// Throttle keeps the API server's own limit of 10 batches per second.
	Throttle bool
	// InitialBackoff is the wait before the first of four repetitions of a failed request. 0: the API server's own, 10 s.
	InitialBackoff time.Duration
}

// flags writes the policy, which is the one that users install, and the webhook's kubeconfig into dir and returns the API server's flags about them.
func (a *Audit) flags(dir string) ([]string, error) {
	if a == nil {
		return nil, nil
	}
	tests, err := testsDir()
	if err != nil {
		return nil, err
	}
	policy, err := os.ReadFile(filepath.Join(tests, "..", "helm/reroll/files/audit-policy.yaml"))
	if err != nil {
		return nil, err
	}
	if a.Level != "" {
		policy = bytes.ReplaceAll(policy, []byte("level: Metadata"), []byte("level: "+a.Level))
	}
	policyFile, webhookFile := filepath.Join(dir, "audit-policy.yaml"), filepath.Join(dir, "audit-webhook.kubeconfig")
	if err := os.WriteFile(policyFile, policy, 0o600); err != nil {
		return nil, err
	}
	if err := clientcmd.WriteToFile(a.kubeconfig(), webhookFile); err != nil {
		return nil, fmt.Errorf("write the audit webhook's kubeconfig: %w", err)
	}
	wait := a.BatchMaxWait
	if wait == 0 {
		wait = defaultBatchMaxWait
	}
	flags := []string{
		"--audit-policy-file=" + policyFile,
		"--audit-webhook-config-file=" + webhookFile,
		"--audit-webhook-mode=batch",
		"--audit-webhook-truncate-enabled=true",
		fmt.Sprintf("--audit-webhook-batch-max-wait=%s", wait),
		fmt.Sprintf("--audit-webhook-batch-throttle-enable=%t", a.Throttle),
	}
	if a.InitialBackoff > 0 {
		flags = append(flags, fmt.Sprintf("--audit-webhook-initial-backoff=%s", a.InitialBackoff))
	}
	return flags, nil
}

func (a *Audit) kubeconfig() clientcmdapi.Config {
	return kubeconfig("audit",
		&clientcmdapi.Cluster{Server: a.URL, CertificateAuthorityData: a.CAPEM},
		&clientcmdapi.AuthInfo{ClientCertificateData: a.Client.CertPEM, ClientKeyData: a.Client.KeyPEM},
	)
}

// kubeconfig makes a kubeconfig of one context.
func kubeconfig(name string, cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) clientcmdapi.Config {
	return clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: user},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}
}
