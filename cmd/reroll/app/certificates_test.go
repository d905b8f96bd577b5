package app

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/reroll-dev/reroll/cmd/reroll/certificate"
	"github.com/reroll-dev/reroll/cmd/reroll/config"
)

// certificateOf returns a certificate in PEM that began at a time and lasts.
func certificateOf(t testing.TB, begin time.Time, lasting time.Duration) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: begin, NotAfter: begin.Add(lasting)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// TestCertificatesAreTold: of each use when it ends, whatever else is in its file.
func TestCertificatesAreTold(t *testing.T) {
	begin := time.Now().Add(-time.Hour)
	day, week, hardly := certificateOf(t, begin, 24*time.Hour), certificateOf(t, begin, 7*24*time.Hour), certificateOf(t, begin, time.Minute)
	file := func(parts ...[]byte) string {
		name := filepath.Join(t.TempDir(), "certificates.pem")
		if err := os.WriteFile(name, bytes.Join(parts, []byte("\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("not looked at")})
	var s config.Config
	s.Ingest.TLSCert = file(key, week, day)
	s.Ingest.TLSClientCA = file(hardly, week, day)
	s.Hub.TLSCert = file(hardly)
	s.API.TLSCert = file([]byte("no certificate"))
	s.NATS.TLSCert = filepath.Join(t.TempDir(), "missing")
	s.Hub.TLSCA = file(bytes.Repeat([]byte("\n"), maxCertificateFile), week)
	var c certificates
	c.addFiles(s)
	c.add("admission", func() (*x509.Certificate, error) { return nil, nil })

	end := func(lasting time.Duration) string { return fmt.Sprintf("%g", float64(begin.Add(lasting).Unix())) }
	want := "# HELP reroll_certificate_expiry_timestamp_seconds When a certificate in use ends: of a chain the first, of several CAs the next; 0 if its file cannot be used.\n" +
		"# TYPE reroll_certificate_expiry_timestamp_seconds gauge\n"
	for use, value := range map[string]string{
		"ingest": end(24 * time.Hour), "ingest-client-ca": end(24 * time.Hour), "hub": end(time.Minute), "api": "0", "nats": "0", "hub-ca": "0",
	} {
		want += fmt.Sprintf("reroll_certificate_expiry_timestamp_seconds{certificate=%q} %s\n", use, value)
	}
	if err := testutil.CollectAndCompare(&c, strings.NewReader(want), "reroll_certificate_expiry_timestamp_seconds"); err != nil {
		t.Error(err)
	}
	// It is renewed: whoever uses the file reads it again, and so does the metric.
	if err := os.WriteFile(s.Ingest.TLSCert, week, 0o600); err != nil {
		t.Fatal(err)
	}
	want = strings.ReplaceAll(want, `{certificate="ingest"} `+end(24*time.Hour), `{certificate="ingest"} `+end(7*24*time.Hour))
	if err := testutil.CollectAndCompare(&c, strings.NewReader(want), "reroll_certificate_expiry_timestamp_seconds"); err != nil {
		t.Error(err)
	}
}

// FuzzCertificates: files are what somebody else has written.
func FuzzCertificates(f *testing.F) {
	good := certificateOf(f, time.Now(), time.Hour)
	f.Add(good)
	f.Add(good[:len(good)-40])
	f.Add(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}))
	f.Add([]byte("-----BEGIN CERTIFICATE-----"))
	f.Fuzz(func(t *testing.T, content []byte) {
		found, err := certificate.ParsePEM(content, maxCertificates)
		if (err == nil) != (len(found) > 0) {
			t.Errorf("%d certificates, %v", len(found), err)
		}
		if err == nil && (firstToEnd(found) == nil || nextToEnd(found) == nil) {
			t.Error("none is chosen")
		}
	})
}
