package kube

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

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
	// Token is sent as a bearer token, only over TLS. Empty: none.
	Token string
	// Level of the events about writes to ConfigMaps and Secrets. Empty: Metadata.
	Level auditv1.Level
	// BatchMaxWait is how long the API server collects events before it sends them. 0: 20 ms.
	BatchMaxWait time.Duration
	// Throttle keeps the API server's own limit of 10 batches per second.
	Throttle bool
	// InitialBackoff is the wait before the first of four repetitions of a failed request. 0: the API server's own, 10 s.
	InitialBackoff time.Duration
}

// flags writes the policy and the webhook's kubeconfig into dir and returns the API server's flags about them.
func (a *Audit) flags(dir string) ([]string, error) {
	if a == nil {
		return nil, nil
	}
	policy, err := yaml.Marshal(a.policy())
	if err != nil {
		return nil, fmt.Errorf("encode the audit policy: %w", err)
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

// policy reports writes to ConfigMaps and Secrets and what the Secrets Store CSI driver rotates, except those to the system's namespaces and the root certificate that every
// namespace gets: the policy that users install.
func (a *Audit) policy() auditv1.Policy {
	configs := func(resources ...string) []auditv1.GroupResources {
		return []auditv1.GroupResources{{Resources: resources}}
	}
	rotations := auditv1.GroupResources{Group: "secrets-store.csi.x-k8s.io", Resources: []string{"secretproviderclasspodstatuses"}}
	level := a.Level
	if level == "" {
		level = auditv1.LevelMetadata
	}
	return auditv1.Policy{
		TypeMeta:          metav1.TypeMeta{APIVersion: auditv1.SchemeGroupVersion.String(), Kind: "Policy"},
		OmitManagedFields: true,
		OmitStages:        []auditv1.Stage{auditv1.StageRequestReceived, auditv1.StageResponseStarted},
		Rules: []auditv1.PolicyRule{
			{
				Level:     auditv1.LevelNone,
				Users:     []string{"system:serviceaccount:kube-system:root-ca-cert-publisher"},
				Resources: configs("configmaps"),
			},
			{
				Level:      auditv1.LevelNone,
				Namespaces: []string{"kube-system", "kube-public", "kube-node-lease"},
				Resources:  append(configs("configmaps", "secrets"), rotations),
			},
			{
				Level:     level,
				Verbs:     []string{"create", "update", "patch", "delete", "deletecollection"},
				Resources: configs("configmaps", "secrets"),
			},
			{
				Level:     auditv1.LevelMetadata,
				Verbs:     []string{"update", "patch"},
				Resources: []auditv1.GroupResources{rotations},
			},
			{Level: auditv1.LevelNone},
		},
	}
}

func (a *Audit) kubeconfig() clientcmdapi.Config {
	return kubeconfig("audit",
		&clientcmdapi.Cluster{Server: a.URL, CertificateAuthorityData: a.CAPEM},
		&clientcmdapi.AuthInfo{ClientCertificateData: a.Client.CertPEM, ClientKeyData: a.Client.KeyPEM, Token: a.Token},
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
