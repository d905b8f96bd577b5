package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/reloader/kube"
)

// The environment that stands for flags of target.
const (
	serverVariable = "REROLL_SERVER"
	tokenVariable  = "REROLL_TOKEN"
)

const defaultServer = "http://127.0.0.1:8080"

// target says which server is asked, and as whom.
type target struct {
	server, tokenFile, ca string
	// certificate and key are files of who asks, given both or neither.
	certificate, key string
	timeout          time.Duration
	forwarding
	serverGiven func() bool
}

func (t *target) bind(cmd *cobra.Command) {
	t.bindServer(cmd)
	cmd.Flags().DurationVar(&t.timeout, "timeout", requestTime, "how long one request may take")
	t.forwarding.bind(cmd)
}

// requestTime is how long one request may take unless it is said otherwise.
const requestTime = 30 * time.Second

// bindServer declares the flags that say which server is asked, and as whom.
func (t *target) bindServer(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&t.server, "server", defaultServer, "address of the REST API; also $"+serverVariable+". Without either, the API is reached through the current context of the kubeconfig")
	f.StringVar(&t.tokenFile, "token-file", "", "file of the token that says who asks; also the token itself in $"+tokenVariable)
	f.StringVar(&t.ca, "certificate-authority", "", "file of the certificates that the server's own is signed by, which through a cluster has to be of 127.0.0.1; those of the system if empty")
	f.StringVar(&t.certificate, "client-certificate", "", "file of the certificate that says who asks, for an API with --auth=mtls")
	f.StringVar(&t.key, "client-key", "", "file of the key of --client-certificate")
	t.serverGiven = func() bool { return f.Changed("server") }
}

// address returns the server's address: that of --server, or through the cluster that flags name, or that of the environment, or through the cluster of
// the usual kubeconfig, or the default where there is none, as in a pod.
func (t *target) address(ctx context.Context, agent string) (string, error) {
	fromEnvironment := os.Getenv(serverVariable)
	switch {
	case t.serverGiven():
		return t.server, nil
	case !t.named() && fromEnvironment != "":
		return fromEnvironment, nil
	case !t.named() && !kube.HasContext():
		return t.server, nil
	}
	near, err := t.forward(ctx, agent)
	return t.scheme() + near, err
}

// scheme is how a server behind a forwarded port is spoken to: who says whom to trust, or shows a certificate, means TLS.
func (t *target) scheme() string {
	if t.ca != "" || t.certificate != "" {
		return "https://"
	}
	return "http://"
}

// client returns what asks the server.
func (t *target) client(ctx context.Context, version string) (*client, error) {
	trust, err := t.tls()
	if err != nil {
		return nil, err
	}
	token, err := t.token()
	if err != nil {
		return nil, err
	}
	agent := "reroll/" + version
	address, err := t.address(ctx, agent)
	if err != nil {
		return nil, err
	}
	base, err := parseServer(address)
	if err != nil {
		return nil, err
	}
	if token != "" && base.Scheme != "https" && !isLoopback(base.Hostname()) {
		return nil, fmt.Errorf("a token would cross the network in clear to %s: use https", base.Redacted())
	}
	if t.certificate != "" && base.Scheme != "https" {
		return nil, Usage(fmt.Errorf("--client-certificate: certificates are shown over https alone, and not to %s", base.Redacted()))
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = trust
	return &client{base: base, token: token, agent: agent, timeout: t.timeout, http: &http.Client{
		Transport: transport,
		// A redirect would carry the token elsewhere, and no server of ours answers with one.
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the server redirects, which Reroll's never does")
		},
	}}, nil
}

func parseServer(address string) (*url.URL, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, Usage(fmt.Errorf("--server: %q is no address such as %s", address, defaultServer))
	}
	base.Path, base.RawQuery, base.Fragment = strings.TrimRight(base.Path, "/"), "", ""
	return base, nil
}

func (t *target) token() (string, error) {
	if t.tokenFile == "" {
		return os.Getenv(tokenVariable), nil
	}
	content, err := os.ReadFile(t.tokenFile)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	return strings.TrimSpace(string(content)), nil
}

// tls returns whom to trust, and what to show.
func (t *target) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.ca != "" {
		content, err := os.ReadFile(t.ca)
		if err != nil {
			return nil, fmt.Errorf("--certificate-authority: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(content) {
			return nil, fmt.Errorf("--certificate-authority: %s has no certificate", t.ca)
		}
	}
	if (t.certificate == "") != (t.key == "") {
		return nil, Usage(errors.New("--client-certificate and --client-key need each other"))
	}
	if t.certificate != "" {
		pair, err := tls.LoadX509KeyPair(t.certificate, t.key)
		if err != nil {
			return nil, fmt.Errorf("--client-certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

func isLoopback(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}
