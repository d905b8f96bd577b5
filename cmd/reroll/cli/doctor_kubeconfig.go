package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/reloader"
)

// webhookConfig is what is read of a kubeconfig.
type webhookConfig struct {
	Current  string `json:"current-context"`
	Contexts []struct {
		Name    string `json:"name"`
		Context struct{ Cluster, User string }
	} `json:"contexts"`
	Clusters []struct {
		Name    string        `json:"name"`
		Cluster webhookServer `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		Name string      `json:"name"`
		User webhookUser `json:"user"`
	} `json:"users"`
}

type webhookServer struct {
	Server   string `json:"server"`
	Name     string `json:"tls-server-name"`
	CA       string `json:"certificate-authority"`
	CAData   []byte `json:"certificate-authority-data"`
	Insecure bool   `json:"insecure-skip-tls-verify"`
}

type webhookUser struct {
	Cert      string `json:"client-certificate"`
	CertData  []byte `json:"client-certificate-data"`
	Key       string `json:"client-key"`
	KeyData   []byte `json:"client-key-data"`
	Token     string `json:"token"`
	TokenFile string `json:"tokenFile"`
}

// webhookTarget is where an API server would post, and how.
type webhookTarget struct {
	address *url.URL
	server  webhookServer
	user    webhookUser
	ca      []byte
}

const kubeconfigCheck = "audit kubeconfig"

const kubeconfigMend = "reroll audit kubeconfig prints one"

// checkKubeconfig judges whether an API server could post its audit events with a kubeconfig. cluster is whose it must be, if it is not
// empty. It returns where they would go, nil if nowhere.
func (f *findings) checkKubeconfig(content []byte, cluster string, now time.Time) *webhookTarget {
	var config webhookConfig
	if err := yaml.Unmarshal(content, &config); err != nil {
		f.add(kubeconfigCheck, wrong, "it is no kubeconfig: the API server would not start", kubeconfigMend)
		return nil
	}
	return f.checkConfig(config, cluster, now)
}

// checkConfig is checkKubeconfig for what was read of one.
func (f *findings) checkConfig(config webhookConfig, cluster string, now time.Time) *webhookTarget {
	server, user, ok := config.current()
	if !ok {
		f.add(kubeconfigCheck, wrong, "current-context names no context with a cluster and a user: the API server would not start", kubeconfigMend)
		return nil
	}
	address, named := f.checkAddress(server.Server, cluster)
	if address == nil {
		return nil
	}
	target := &webhookTarget{address: address, server: server, user: user, ca: f.checkAuthority(server, now)}
	f.checkCredentials(user, named, now)
	return target
}

// current returns what the current context names.
func (c webhookConfig) current() (server webhookServer, user webhookUser, ok bool) {
	for _, context := range c.Contexts {
		if context.Name != c.Current {
			continue
		}
		for _, one := range c.Clusters {
			if one.Name == context.Context.Cluster {
				server, ok = one.Cluster, true
			}
		}
		for _, one := range c.Users {
			if one.Name == context.Context.User {
				return server, one.User, ok
			}
		}
	}
	return server, user, false
}

// checkAddress judges where the events would go, and returns the cluster that they would be taken to be of.
func (f *findings) checkAddress(server, cluster string) (address *url.URL, named string) {
	address, err := url.Parse(server)
	if err != nil || address.Host == "" {
		f.add(kubeconfigCheck, wrong, "server is no address", kubeconfigMend)
		return nil, ""
	}
	if address.Scheme != "https" {
		f.add(kubeconfigCheck, wrong, "server is not https: the API server sends neither token nor certificate then", "use https://"+address.Host+address.Path)
	}
	if address.RawQuery != "" || address.Fragment != "" {
		f.add(kubeconfigCheck, wrong, "the API server drops what follows ? or # in server", "take it away; a token belongs to tokenFile")
	}
	named, found := strings.CutPrefix(address.Path, auditPath)
	if !found || reloader.ValidateCluster(named) != nil {
		f.add(kubeconfigCheck, wrong, fmt.Sprintf("the path %q is not %sCLUSTER", address.Path, auditPath), "server: https://"+address.Host+auditPath+firstOf(cluster, "CLUSTER"))
		return address, ""
	}
	if cluster != "" && named != cluster {
		f.add(kubeconfigCheck, wrong, fmt.Sprintf("it speaks for cluster %s, and not for %s", named, cluster), "server: https://"+address.Host+auditPath+cluster)
	}
	return address, named
}

// material returns embedded content, or that of a file. A file that is not here may be on the machine of the API server.
func (f *findings) material(field, file string, data []byte) []byte {
	if len(data) > 0 || file == "" {
		return data
	}
	content, err := readFile(file)
	if err != nil {
		f.add(kubeconfigCheck, careful, field+" "+file+" cannot be read here", "make sure that the API server can read it: otherwise it does not start")
	}
	return content
}

func (f *findings) checkAuthority(server webhookServer, now time.Time) []byte {
	if server.Insecure {
		f.add(kubeconfigCheck, careful, "insecure-skip-tls-verify: whoever stands between gets the events and the credentials", "name the certificate-authority instead")
		return nil
	}
	if server.CA == "" && server.CAData == nil {
		f.add(kubeconfigCheck, careful, "no certificate-authority: those of the API server's own system count", "name the one that signed the ingest's certificate")
		return nil
	}
	ca := f.material("certificate-authority", server.CA, server.CAData)
	if ca != nil {
		f.checkCertificates(kubeconfigCheck+", certificate-authority", ca, now)
	}
	return ca
}

// checkCredentials judges whether the ingest would know the API server for that of the cluster.
func (f *findings) checkCredentials(user webhookUser, cluster string, now time.Time) {
	hasCertificate := user.Cert != "" || user.CertData != nil
	if !hasCertificate && user.Token == "" && user.TokenFile == "" {
		f.add(kubeconfigCheck, wrong, "it has neither a client-certificate nor a token: the ingest refuses it", kubeconfigMend)
		return
	}
	if user.TokenFile != "" {
		f.material("tokenFile", user.TokenFile, nil)
	}
	if !hasCertificate {
		f.add(kubeconfigCheck, fine, "it has a token", "")
		return
	}
	cert, key := f.material("client-certificate", user.Cert, user.CertData), f.material("client-key", user.Key, user.KeyData)
	if cert == nil {
		return
	}
	const check = kubeconfigCheck + ", client-certificate"
	first := f.checkCertificates(check, cert, now)
	if first == nil {
		return
	}
	if key != nil {
		if _, err := tls.X509KeyPair(cert, key); err != nil {
			f.add(check, wrong, "client-key is not that of the certificate: the API server would not start", "give the key that belongs to it")
		}
	}
	f.checkClient(check, first, cluster)
}

// checkClient judges whether a certificate names the cluster.
func (f *findings) checkClient(check string, c *x509.Certificate, cluster string) {
	if !slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageClientAuth) && !slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageAny) {
		f.add(check, wrong, "it is not for clients (extendedKeyUsage clientAuth)", "issue it with extendedKeyUsage=clientAuth")
	}
	want := cluster + auditDomain
	if cluster != "" && c.Subject.CommonName != want && !slices.Contains(c.DNSNames, want) {
		f.add(check, wrong, "it does not name the cluster "+cluster, "issue it with the DNS name "+want)
	}
}

// emptyList is what an API server would post that has nothing to tell.
const emptyList = `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[]}`

// maxAuditAnswer bounds what is read of an answer of the ingest.
const maxAuditAnswer = 1 << 10

// connect posts an empty list to the ingest as the API server would, by way of HOST:PORT, and judges the certificate and the answer.
func (f *findings) connect(ctx context.Context, t *webhookTarget, near string, now time.Time) {
	check := "ingest " + t.address.Host
	if t.address.Scheme != "https" {
		f.add(check, skipped, "it was not asked, because credentials must not be sent without TLS", "")
		return
	}
	transport := &http.Transport{TLSClientConfig: t.tls(), DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, near)
	}}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.address.String(), strings.NewReader(emptyList))
	if err != nil {
		f.add(check, unclear, err.Error(), "")
		return
	}
	request.Header.Set("Content-Type", "application/json")
	if token := bytes.TrimSpace(contentOf(t.user.TokenFile, []byte(t.user.Token))); len(token) > 0 {
		request.Header.Set("Authorization", "Bearer "+string(token))
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		f.add(check, wrong, err.Error(), "is it running, does the network let the API server through, and does its certificate have the name "+transport.TLSClientConfig.ServerName+"?")
		return
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	f.checkDates(check, response.TLS.PeerCertificates[0], now)
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxAuditAnswer)) // what was read says enough
	switch said := response.Status + " " + strings.TrimSpace(string(body)); {
	case response.StatusCode < http.StatusMultipleChoices:
		f.add(check, fine, "it takes audit events with these credentials, and its certificate is trusted", "")
	case response.StatusCode == http.StatusUnauthorized, response.StatusCode == http.StatusForbidden:
		f.add(check, wrong, "it refuses these credentials: "+said, "reroll audit setup --force issues a certificate by the CA of the release; put the files in place again")
	default:
		f.add(check, wrong, "it answers "+said, "see its log")
	}
}

// tls returns whom the API server would trust, and what it would show.
func (t *webhookTarget) tls() *tls.Config {
	config := &tls.Config{ServerName: firstOf(t.server.Name, t.address.Hostname()), InsecureSkipVerify: t.server.Insecure, MinVersion: tls.VersionTLS12}
	if t.ca != nil {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(t.ca)
	}
	if pair, err := tls.X509KeyPair(contentOf(t.user.Cert, t.user.CertData), contentOf(t.user.Key, t.user.KeyData)); err == nil {
		config.Certificates = []tls.Certificate{pair}
	}
	return config
}

// port is where the API server would post, HOST:PORT.
func (t *webhookTarget) port() string {
	return net.JoinHostPort(t.address.Hostname(), firstOf(t.address.Port(), "443"))
}

// contentOf returns embedded content, or that of a file. That a file cannot be read was told of before.
func contentOf(file string, data []byte) []byte {
	if len(data) > 0 || file == "" {
		return data
	}
	content, _ := readFile(file)
	return content
}
