package cli

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/cmd/reroll/certificate"
)

// pair is a certificate with its key, both in PEM, signed by itself.
type pair struct{ cert, key []byte }

func newPair(t *testing.T, edit func(*x509.Certificate)) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{"local.audit.reroll.dev", "localhost"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(365 * 24 * time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		IsCA: true, BasicConstraintsValid: true,
	}
	edit(template)
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), key: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}),
	}
}

// caPair is a CA as Reroll makes one.
func caPair(t *testing.T, edit func(*x509.Certificate)) pair {
	t.Helper()
	return newPair(t, func(c *x509.Certificate) {
		c.DNSNames, c.ExtKeyUsage, c.KeyUsage = nil, nil, x509.KeyUsageCertSign
		edit(c)
	})
}

func asIs(*x509.Certificate) {}

func TestClientCertificate(t *testing.T) {
	ca := caPair(t, asIs)
	a, err := parseAuthority(ca.cert, ca.key, now)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("c", 63)
	for name, c := range map[string]struct {
		cluster  string
		lifetime time.Duration
		common   string
		until    time.Time
	}{
		"a year":             {"east", 30 * 24 * time.Hour, "east.audit.reroll.dev", now.Add(30 * 24 * time.Hour)},
		"longer than the CA": {"east", 10 * 365 * 24 * time.Hour, "east.audit.reroll.dev", now.Add(365 * 24 * time.Hour)},
		"a long name":        {long, time.Hour, "reroll", now.Add(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := a.issueClient(c.cluster, c.lifetime, now)
			if err != nil {
				t.Fatal(err)
			}
			all, err := certificate.ParsePEM(client.certificate, 1)
			if err != nil {
				t.Fatal(err)
			}
			leaf := all[0]
			key, err := parseKey(client.key)
			if err != nil || !key.(*ecdsa.PrivateKey).PublicKey.Equal(leaf.PublicKey) {
				t.Errorf("the key is another one's: %v", err)
			}
			if leaf.Subject.CommonName != c.common || !slices.Equal(leaf.DNSNames, []string{c.cluster + ".audit.reroll.dev"}) {
				t.Errorf("it is for %s, %s", leaf.Subject.CommonName, leaf.DNSNames)
			}
			if !leaf.NotAfter.Equal(c.until.Truncate(time.Second).UTC()) || !client.until.Truncate(time.Second).Equal(leaf.NotAfter) || leaf.NotBefore.After(now) {
				t.Errorf("it is valid from %s to %s, and said to be to %s; want %s", leaf.NotBefore, leaf.NotAfter, client.until, c.until)
			}
			if leaf.IsCA || !slices.Equal(leaf.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}) {
				t.Errorf("it is good for more: CA %t, %v", leaf.IsCA, leaf.ExtKeyUsage)
			}
		})
	}
}

func TestAuthority(t *testing.T) {
	ca, other := caPair(t, asIs), caPair(t, asIs)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	of := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	rsaDER := of("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))
	for name, c := range map[string]struct {
		cert, key []byte
		err       string
	}{
		"as it is":              {ca.cert, ca.key, ""},
		"being replaced":        {slices.Concat(other.cert, ca.cert), ca.key, ""},
		"something before":      {slices.Concat([]byte("Subject: x\n"), ca.cert), slices.Concat(of("EC PARAMETERS", nil), ca.key), ""},
		"another's key":         {ca.cert, other.key, "the key belongs to none"},
		"a key of another kind": {ca.cert, rsaDER, "the key belongs to none"},
		"no certificate":        {nil, ca.key, "no certificate in PEM"},
		"no key":                {ca.cert, nil, "no private key in PEM"},
		"swapped":               {ca.key, ca.cert, "no private key in PEM"},
		"a broken certificate":  {of("CERTIFICATE", []byte("x")), ca.key, "certificate 1 cannot be read"},
		"a broken key":          {ca.cert, of("EC PRIVATE KEY", []byte("hunter2")), "the private key cannot be read"},
		"an encrypted key":      {ca.cert, of("ENCRYPTED PRIVATE KEY", []byte("hunter2")), "is encrypted"},
		"a long key":            {ca.cert, slices.Concat(bytes.Repeat([]byte("x"), maxKeyFile), ca.key), "longer than 16384 bytes"},
		"too many":              {bytes.Repeat(ca.cert, maxAuthorities+1), ca.key, "more than 16 certificates"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := parseAuthority(c.cert, c.key, now)
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("error %v, want %q", err, c.err)
			}
			if err != nil {
				if strings.Contains(err.Error(), "hunter2") {
					t.Error("it quotes the key")
				}
				return
			}
			if n := bytes.Count(a.trusted, []byte("BEGIN")); n != bytes.Count(c.cert, []byte("BEGIN")) {
				t.Errorf("%d certificates are trusted", n)
			}
		})
	}
	for name, c := range map[string]struct {
		edit func(*x509.Certificate)
		err  string
	}{
		"no CA":         {func(c *x509.Certificate) { c.IsCA, c.KeyUsage = false, 0 }, "not that of a CA"},
		"may not sign":  {func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageCRLSign }, "not that of a CA"},
		"over":          {func(c *x509.Certificate) { c.NotAfter = now.Add(-time.Minute) }, "valid from"},
		"servers alone": {func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }, "may not sign client certificates"},
		"of other names": {func(c *x509.Certificate) {
			c.PermittedDNSDomainsCritical, c.PermittedDNSDomains = true, []string{"example.com"}
		}, "may not sign client certificates"},
		"limited elsewhere": {func(c *x509.Certificate) { c.PermittedURIDomains = []string{(&url.URL{Host: "x"}).Host} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ca := caPair(t, c.edit)
			a, err := parseAuthority(ca.cert, ca.key, now)
			if err == nil {
				_, err = a.issueClient("east", time.Hour, now)
			}
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

// FuzzAuthority reads the Secret of a CA. What it cannot read it refuses without quoting it; what it takes signs.
func FuzzAuthority(f *testing.F) {
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"), []byte("-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n"))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----BEGIN"), []byte(""))
	ca := caPair(&testing.T{}, asIs)
	f.Add(ca.cert, ca.key)
	f.Fuzz(func(t *testing.T, certificates, key []byte) {
		a, err := parseAuthority(certificates, key, now)
		if err != nil {
			if len(err.Error()) > 200 {
				t.Errorf("it says too much: %v", err)
			}
			return
		}
		if _, err := a.issueClient("east", time.Hour, now); err == nil && len(a.trusted) == 0 {
			t.Error("nothing is trusted")
		}
	})
}
