package cli

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/kube"
)

const kubeconfigCheck = "audit kubeconfig"

const kubeconfigMend = "reroll audit kubeconfig prints one"

// checkKubeconfig judges whether an API server could post its audit events with a kubeconfig. cluster is whose it must be, if it is not
// empty; the files that the kubeconfig names may be in the folder beside. It returns where they would go, nil if nowhere.
func (f *findings) checkKubeconfig(content []byte, beside, cluster string, now time.Time) *kube.Webhook {
	webhook, err := kube.ReadWebhook(content, beside)
	if errors.Is(err, fs.ErrNotExist) {
		f.add(kubeconfigCheck, careful, err.Error(), "run this where the API server runs, or make sure that the API server can read the file: otherwise it does not start")
		return nil
	}
	if err != nil {
		f.add(kubeconfigCheck, wrong, "the API server would not start: "+err.Error(), kubeconfigMend)
		return nil
	}
	named := f.checkAddress(webhook.Address, cluster)
	if webhook.Address.Scheme == "https" {
		f.checkCredentials(webhook, named, now)
	}
	return webhook
}

// checkAddress judges where the events would go, and returns the cluster that they would be taken to be of.
func (f *findings) checkAddress(address *url.URL, cluster string) (named string) {
	if address.Scheme != "https" {
		f.add(kubeconfigCheck, wrong, "server is not https: the API server sends neither token nor certificate then", "use https://"+address.Host+address.Path)
	}
	named, found := strings.CutPrefix(address.Path, auditPath)
	if !found || reloader.ValidateCluster(named) != nil {
		f.add(kubeconfigCheck, wrong, fmt.Sprintf("the path %q is not %sCLUSTER", address.Path, auditPath), "server: https://"+address.Host+auditPath+firstOf(cluster, "CLUSTER"))
		return ""
	}
	if cluster != "" && named != cluster {
		f.add(kubeconfigCheck, wrong, fmt.Sprintf("it speaks for cluster %s, and not for %s", named, cluster), "server: https://"+address.Host+auditPath+cluster)
	}
	return named
}

// checkCredentials judges whether ingest would accept the API server as that of the cluster, and the API server ingest.
func (f *findings) checkCredentials(webhook *kube.Webhook, cluster string, now time.Time) {
	switch {
	case webhook.Insecure:
		f.add(kubeconfigCheck, careful, "insecure-skip-tls-verify: an attacker on the network can read the events and the credentials", "name the certificate-authority instead")
	case webhook.CA != nil:
		f.checkCertificates(kubeconfigCheck+", certificate-authority", webhook.CA, now)
	}
	switch {
	case webhook.Certificate != nil:
		const check = kubeconfigCheck + ", client-certificate"
		first, want := f.checkCertificates(check, webhook.Certificate, now), cluster+auditDomain
		if first != nil && cluster != "" && first.Subject.CommonName != want && !slices.Contains(first.DNSNames, want) {
			f.add(check, wrong, "it does not name the cluster "+cluster, "issue it with the DNS name "+want)
		}
		if first != nil && !slices.Contains(first.ExtKeyUsage, x509.ExtKeyUsageClientAuth) {
			f.add(check, wrong, "it is not for clients", "issue it with extendedKeyUsage=clientAuth")
		}
	case webhook.HasToken:
		f.add(kubeconfigCheck, fine, "it has a token", "")
	default:
		f.add(kubeconfigCheck, wrong, "it has neither a client-certificate nor a token: ingest refuses it", kubeconfigMend)
	}
}

// emptyList is what an API server would post that has nothing to report.
const emptyList = `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[]}`

// maxAuditAnswer bounds what is read of an answer of the ingest.
const maxAuditAnswer = 1 << 10

// connect posts an empty list to the ingest as the API server would, by way of HOST:PORT, and judges the certificate and the answer.
func (f *findings) connect(ctx context.Context, t *kube.Webhook, near string, now time.Time) {
	check := "ingest " + t.Address.Host
	if t.Address.Scheme != "https" {
		f.add(check, skipped, "it was not asked, because credentials must not be sent without TLS", "")
		return
	}
	transport, err := t.Transport(near)
	if err != nil {
		f.add(check, unclear, err.Error(), "")
		return
	}
	defer utilnet.CloseIdleConnectionsFor(transport)
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Address.String(), strings.NewReader(emptyList))
	if err != nil {
		f.add(check, unclear, err.Error(), "")
		return
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := transport.RoundTrip(request)
	if err != nil {
		f.add(check, wrong, err.Error(), "is it running, does the network let the API server through, and does its certificate have the name "+firstOf(t.ServerName, t.Address.Hostname())+"?")
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

// webhookPort is where the API server would post, HOST:PORT.
func webhookPort(t *kube.Webhook) string {
	return net.JoinHostPort(t.Address.Hostname(), firstOf(t.Address.Port(), "443"))
}
