package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
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
	server, user, ok := config.current()
	if !ok {
		f.add(kubeconfigCheck, wrong, "current-context names no context with a cluster and a user: the API server would not start", kubeconfigMend)
		return nil
	}
	address, named := f.checkAddress(server.Server, cluster)
	if address == nil {
		return nil
	}
	target := &webhookTarget{address: address, server: server, ca: f.checkAuthority(server, now)}
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
	content, err := os.ReadFile(file)
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
	want := cluster + ".audit.reroll.dev"
	if cluster != "" && c.Subject.CommonName != want && !slices.Contains(c.DNSNames, want) {
		f.add(check, wrong, "it does not name the cluster "+cluster, "issue it with the DNS name "+want)
	}
}

// connect shakes hands with the ingest, and judges the certificate that it shows.
func (f *findings) connect(ctx context.Context, t *webhookTarget, now time.Time) {
	check := "ingest " + t.address.Host
	config := &tls.Config{ServerName: firstOf(t.server.Name, t.address.Hostname()), InsecureSkipVerify: t.server.Insecure, MinVersion: tls.VersionTLS12}
	if t.ca != nil {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(t.ca)
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	connection, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", net.JoinHostPort(t.address.Hostname(), firstOf(t.address.Port(), "443")))
	if err != nil {
		f.add(check, wrong, err.Error(), "is it running, does the network let the API server through, and does its certificate have the name "+config.ServerName+"?")
		return
	}
	defer connection.Close() //nolint:errcheck // nothing was sent
	f.add(check, fine, "it answers, and its certificate is trusted", "")
	f.checkDates(check, connection.(*tls.Conn).ConnectionState().PeerCertificates[0], now)
}
