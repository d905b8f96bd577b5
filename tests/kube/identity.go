package kube

import (
	"context"
	"fmt"
	"os"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/reroll-dev/reroll/tests/pki"
)

// The files that hold what the programs are known by.
const (
	caFile                = "ca.crt"
	caKeyFile             = "ca.key"
	servingCertFile       = "apiserver.crt"
	servingKeyFile        = "apiserver.key"
	serviceAccountFile    = "service-accounts.pub"
	serviceAccountKeyFile = "service-accounts.key"
)

// adminGroup may do everything, whatever RBAC says.
const adminGroup = "system:masters"

// componentUsers are the users that the programs act as. The API server has roles for the first two. It has none for kwok, which
// plays the kubelets of all nodes.
var componentUsers = map[Part][]string{
	ControllerManager: {"system:kube-controller-manager"},
	Scheduler:         {"system:kube-scheduler"},
	Kwok:              {"kwok", adminGroup},
	Kubectl:           {"admin", adminGroup},
}

// makeIdentities makes the cluster's keys and certificates and the kubeconfigs of those who talk to its API server.
func (c *Cluster) makeIdentities(context.Context) error {
	if err := c.makeKeys(); err != nil {
		return err
	}
	for part, user := range componentUsers {
		config, err := c.User(user[0], user[1:]...)
		if err != nil {
			return err
		}
		if err := writeKubeconfig(c.kubeconfigFile(part), config); err != nil {
			return err
		}
		if part == Kubectl {
			c.admin = config
		}
	}
	var err error
	c.client, err = kubernetes.NewForConfig(c.admin)
	return err
}

func (c *Cluster) makeKeys() error {
	var err error
	if c.ca, err = pki.NewCA("reroll test cluster"); err != nil {
		return err
	}
	serving, err := c.ca.Server("kube-apiserver", "127.0.0.1", "localhost", "kubernetes.default.svc", serviceAddress)
	if err != nil {
		return err
	}
	serviceAccounts, err := pki.ServiceAccountKeys()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		caFile:                c.ca.CertPEM(),
		caKeyFile:             c.ca.KeyPEM(),
		servingCertFile:       serving.CertPEM,
		servingKeyFile:        serving.KeyPEM,
		serviceAccountFile:    serviceAccounts.CertPEM,
		serviceAccountKeyFile: serviceAccounts.KeyPEM,
	} {
		if err := os.WriteFile(c.file(name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) kubeconfigFile(part Part) string { return c.file(string(part) + ".kubeconfig") }

// Kubeconfig returns the path of a kubeconfig of a user who may do everything.
func (c *Cluster) Kubeconfig() string { return c.kubeconfigFile(Kubectl) }

// RESTConfig returns the access of a user who may do everything, without a client-side rate limit. The caller may change it.
func (c *Cluster) RESTConfig() *rest.Config { return rest.CopyConfig(c.admin) }

// Client returns a client of a user who may do everything, without a client-side rate limit.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// User returns the access, by a new client certificate, of the named user in the given groups. RBAC decides what the user may do. The
// client has no rate limit.
func (c *Cluster) User(name string, groups ...string) (*rest.Config, error) {
	pair, err := c.ca.Client(name, groups...)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:            c.api.URL("https"),
		TLSClientConfig: rest.TLSClientConfig{CAData: c.ca.CertPEM(), CertData: pair.CertPEM, KeyData: pair.KeyPEM},
		QPS:             -1,
	}, nil
}

// UserKubeconfig is like User but returns the path of a kubeconfig, which goes with the cluster's directory.
func (c *Cluster) UserKubeconfig(name string, groups ...string) (string, error) {
	config, err := c.User(name, groups...)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(c.dir, "user-*.kubeconfig")
	if err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	return f.Name(), writeKubeconfig(f.Name(), config)
}

// writeKubeconfig writes the kubeconfig that gives the access of config by certificate or token.
func writeKubeconfig(file string, config *rest.Config) error {
	content := kubeconfig("rig",
		&clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData},
		&clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken},
	)
	if err := clientcmd.WriteToFile(content, file); err != nil {
		return fmt.Errorf("write a kubeconfig: %w", err)
	}
	return nil
}
