package app

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestCertificatesAreReported: of each use when it ends, as soon as there is one.
func TestCertificatesAreReported(t *testing.T) {
	var c certificates
	var current *x509.Certificate
	c.add("ingest", func() *x509.Certificate { return current })
	if n := testutil.CollectAndCount(&c); n != 0 {
		t.Errorf("%d series before there is a certificate", n)
	}
	current = &x509.Certificate{NotBefore: time.Unix(1000, 0), NotAfter: time.Unix(2000, 0)}
	want := `# HELP reroll_certificate_expiry_timestamp_seconds When a certificate in use ends.
# TYPE reroll_certificate_expiry_timestamp_seconds gauge
reroll_certificate_expiry_timestamp_seconds{certificate="ingest"} 2000
# HELP reroll_certificate_not_before_timestamp_seconds When the same certificate began to be valid.
# TYPE reroll_certificate_not_before_timestamp_seconds gauge
reroll_certificate_not_before_timestamp_seconds{certificate="ingest"} 1000
`
	if err := testutil.CollectAndCompare(&c, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
