package app

import (
	"crypto/x509"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/cmd/reroll/certificate"
	"github.com/reroll-dev/reroll/cmd/reroll/config"
)

// A file of certificates has at most so many bytes and certificates: a bundle of all public CAs has about 150.
const (
	maxCertificateFile = 4 << 20
	maxCertificates    = 1000
)

// certificates tells Prometheus when the certificates end that the process shows, or believes. What is in files is read at each look:
// whoever uses it reads changed files, too.
type certificates struct {
	mu      sync.Mutex
	sources []certificateSource
}

// certificateSource has a certificate of some use: nil if there is none yet, and an error if it cannot be read.
type certificateSource struct {
	use string
	get func() (*x509.Certificate, error)
}

var (
	certificateEnds = prometheus.NewDesc("reroll_certificate_expiry_timestamp_seconds",
		"When a certificate in use ends: of a chain the first, of several CAs the next; 0 if its file cannot be used.", []string{"certificate"}, nil)
	certificateBegins = prometheus.NewDesc("reroll_certificate_not_before_timestamp_seconds",
		"When the same certificate began to be valid.", []string{"certificate"}, nil)
)

// Describe names the metrics.
func (c *certificates) Describe(out chan<- *prometheus.Desc) {
	out <- certificateEnds
	out <- certificateBegins
}

// Collect looks at each certificate.
func (c *certificates) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	sources := slices.Clone(c.sources)
	c.mu.Unlock()
	for _, s := range sources {
		cert, err := s.get()
		var begin, end float64
		switch {
		case err == nil && cert == nil:
			continue
		case err == nil:
			begin, end = float64(cert.NotBefore.Unix()), float64(cert.NotAfter.Unix())
		}
		out <- prometheus.MustNewConstMetric(certificateEnds, prometheus.GaugeValue, end, s.use)
		out <- prometheus.MustNewConstMetric(certificateBegins, prometheus.GaugeValue, begin, s.use)
	}
}

// add lets a certificate be looked at from now on.
func (c *certificates) add(use string, get func() (*x509.Certificate, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sources = append(c.sources, certificateSource{use, get})
}

// addFiles adds those that the settings name.
func (c *certificates) addFiles(s config.Config) {
	for _, file := range []struct {
		use, path string
		choose    func([]*x509.Certificate) *x509.Certificate
	}{
		{"ingest", s.Ingest.TLSCert, firstToEnd},
		{"ingest-client-ca", s.Ingest.TLSClientCA, nextToEnd},
		{"admission", s.Admission.TLSCert, firstToEnd},
		{"api", s.API.TLSCert, firstToEnd},
		{"nats", s.NATS.TLSCert, firstToEnd},
		{"nats-ca", s.NATS.TLSCA, nextToEnd},
		{"hub", s.Hub.TLSCert, firstToEnd},
		{"hub-ca", s.Hub.TLSCA, nextToEnd},
	} {
		if file.path == "" {
			continue
		}
		c.add(file.use, func() (*x509.Certificate, error) {
			found, err := readCertificates(file.path)
			if err != nil {
				return nil, err
			}
			return file.choose(found), nil
		})
	}
}

// firstToEnd chooses of a chain: it is worth nothing without each of its certificates.
func firstToEnd(chain []*x509.Certificate) *x509.Certificate {
	return slices.MinFunc(chain, byEnd)
}

// nextToEnd chooses of CAs that are believed side by side. One that has ended is left over from when it was replaced, unless all have.
func nextToEnd(cas []*x509.Certificate) *x509.Certificate {
	now := time.Now()
	valid := slices.DeleteFunc(slices.Clone(cas), func(c *x509.Certificate) bool { return now.After(c.NotAfter) })
	if len(valid) == 0 {
		return slices.MaxFunc(cas, byEnd)
	}
	return slices.MinFunc(valid, byEnd)
}

func byEnd(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) }

// readCertificates returns the certificates of a PEM file, one at least.
func readCertificates(path string) (found []*x509.Certificate, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	content, err := io.ReadAll(io.LimitReader(file, maxCertificateFile+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxCertificateFile {
		return nil, fmt.Errorf("%s is longer than %d bytes", path, maxCertificateFile)
	}
	if found, err = certificate.ParsePEM(content, maxCertificates); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return found, nil
}
