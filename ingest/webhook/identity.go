package webhook

import (
	"crypto/x509"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// certificateDomain follows the name of a cluster in the names of its client certificate.
const certificateDomain = ".audit.reroll.dev"

// authenticate returns the clusters that the sender of r speaks for, and whether it is known at all. It reads only the header.
func (s *security) authenticate(r *http.Request) (clusters []string, known bool) {
	if s.clientCAs != nil && r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		if verify(r.TLS.PeerCertificates, s.clientCAs(), s.now()) == nil {
			clusters, known = certificateClusters(r.TLS.PeerCertificates[0]), true
			if len(clusters) > 0 {
				s.clients.accept(r.TLS.PeerCertificates[0])
			}
		}
	}
	if secret, ok := bearer(r); ok && s.tokens != nil {
		if cluster := s.tokens.get().cluster(secret); cluster != "" {
			clusters, known = append(clusters, cluster), true
		}
	}
	return clusters, known
}

// allows reports whether the sender of r speaks for cluster, and whether it is known at all.
func (s *security) allows(r *http.Request, cluster string) (allowed, known bool) {
	if s.open {
		return true, true
	}
	clusters, known := s.authenticate(r)
	return slices.Contains(clusters, cluster), known
}

// verify checks a client certificate. The handshake did so too, but connections last: CAs are replaced and certificates expire.
func verify(chain []*x509.Certificate, roots *x509.CertPool, now time.Time) error {
	intermediates := x509.NewCertPool()
	for _, c := range chain[1:] {
		intermediates.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		Roots:         roots,
		Intermediates: intermediates,
		CurrentTime:   now,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err
}

// certificateClusters returns the clusters that cert names, each in our domain: other certificates of the same CA have common names of their
// own, and one of them may be that of a cluster by chance.
func certificateClusters(cert *x509.Certificate) []string {
	var out []string
	for _, n := range append([]string{cert.Subject.CommonName}, cert.DNSNames...) {
		cluster, found := strings.CutSuffix(n, certificateDomain)
		if found && reloader.ValidateCluster(cluster) == nil {
			out = append(out, cluster)
		}
	}
	return out
}

// accessKey is the header in which Amazon Data Firehose sends its token; it can send no other.
const accessKey = "X-Amz-Firehose-Access-Key"

// bearer returns the token in r's header.
func bearer(r *http.Request) (string, bool) {
	if secret := r.Header.Get(accessKey); secret != "" {
		return secret, true
	}
	scheme, secret, found := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(secret), found && strings.EqualFold(scheme, "Bearer")
}
