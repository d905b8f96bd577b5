package kube

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Webhook is where an API server posts its audit events, and how.
type Webhook struct {
	Address *url.URL
	// ServerName is the name that the server's certificate must have, if it is not that of Address.
	ServerName string
	Insecure   bool
	// CA and Certificate are PEM, or empty.
	CA, Certificate []byte
	HasToken        bool

	config *rest.Config
}

// ReadWebhook reads a kubeconfig of --audit-webhook-config-file with the loader that the API server uses. A file that the kubeconfig names is
// read from the folder beside if it is there.
func ReadWebhook(kubeconfig []byte, beside string) (*Webhook, error) {
	loaded, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, err
	}
	look := func(file *string) {
		name := filepath.Join(beside, filepath.Base(*file))
		if _, err := os.Stat(name); beside != "" && *file != "" && err == nil {
			*file = name
		}
	}
	for _, cluster := range loaded.Clusters {
		look(&cluster.CertificateAuthority)
	}
	for _, user := range loaded.AuthInfos {
		look(&user.ClientCertificate)
		look(&user.ClientKey)
		look(&user.TokenFile)
	}
	config, err := clientcmd.NewDefaultClientConfig(*loaded, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, err
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, err
	}
	if _, err := rest.TLSConfigFor(config); err != nil {
		return nil, err
	}
	address, err := url.Parse(config.Host)
	if err != nil || address.Host == "" {
		return nil, errors.New("server is not an address")
	}
	return &Webhook{
		Address: address, ServerName: config.ServerName, Insecure: config.Insecure, CA: config.CAData, Certificate: config.CertData,
		HasToken: config.BearerToken != "", config: config,
	}, nil
}

// Transport sends requests with the credentials of the API server, by way of HOST:PORT.
func (w *Webhook) Transport(near string) (http.RoundTripper, error) {
	config := rest.CopyConfig(w.config)
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	config.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, near)
	}
	return rest.TransportFor(config)
}
