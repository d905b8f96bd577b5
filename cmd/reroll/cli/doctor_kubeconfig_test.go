package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
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

// kubeconfigOf is a kubeconfig for cluster local, with embedded certificates.
func kubeconfigOf(server string, ca []byte, client pair) string {
	data := base64.StdEncoding.EncodeToString
	return fmt.Sprintf(`
current-context: a
contexts: [{name: a, context: {cluster: b, user: c}}]
clusters: [{name: b, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: c, user: {client-certificate-data: %s, client-key-data: %s}}]
`, server, data(ca), data(client.cert), data(client.key))
}

func TestKubeconfig(t *testing.T) {
	good := newPair(t, func(*x509.Certificate) {})
	client := func(edit func(*x509.Certificate)) string {
		return kubeconfigOf("https://reroll:9443/v1/audit/local", good.cert, newPair(t, edit))
	}
	right := kubeconfigOf("https://reroll:9443/v1/audit/local", good.cert, good)
	at := func(server string) string { return kubeconfigOf(server, good.cert, good) }
	cases := map[string]struct {
		kubeconfig string
		want       want
	}{
		"right":           {right, nil},
		"no TLS":          {at("http://reroll:9443/v1/audit/local"), want{"is not https": wrong}},
		"no path":         {at("https://reroll:9443"), want{`the path "" is not /v1/audit/CLUSTER`: wrong}},
		"another cluster": {at("https://reroll:9443/v1/audit/west"), want{"speaks for cluster west, and not for local": wrong, "does not name the cluster west": wrong}},
		"no server":       {at(""), want{"would not start": wrong}},
		"no context":      {strings.Replace(right, "current-context: a", "current-context: z", 1), want{"would not start": wrong}},
		"no user":         {strings.Replace(right, "user: c}", "user: z}", 1), want{"neither a client-certificate nor a token": wrong}},
		"not YAML":        {"{", want{"would not start": wrong}},
		"expired":         {client(func(c *x509.Certificate) { c.NotAfter = now.Add(-time.Second) }), want{"has expired": wrong}},
		"not yet":         {client(func(c *x509.Certificate) { c.NotBefore = now.Add(time.Second) }), want{"is not valid before": wrong}},
		"soon":            {client(func(c *x509.Certificate) { c.NotAfter = now.Add(7*24*time.Hour + time.Minute) }), want{"expires in 7 days": careful}},
		"no client":       {client(func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[1:] }), want{"not for clients": wrong}},
		"by common name":  {client(func(c *x509.Certificate) { c.Subject.CommonName, c.DNSNames = "local.audit.reroll.dev", nil }), nil},
		"by a bare name":  {client(func(c *x509.Certificate) { c.Subject.CommonName, c.DNSNames = "local", nil }), want{"does not name the cluster local": wrong}},
		"nobody":          {client(func(c *x509.Certificate) { c.DNSNames = nil }), want{"does not name the cluster local": wrong}},
		"another's key":   {kubeconfigOf("https://reroll:9443/v1/audit/local", good.cert, pair{good.cert, newPair(t, func(*x509.Certificate) {}).key}), want{"private key does not match": wrong}},
		"no credentials":  {strings.NewReplacer("client-certificate-data", "x", "client-key-data", "y").Replace(right), want{"neither a client-certificate nor a token": wrong}},
		"a token":         {withUser(right, "{token: abc}"), nil},
		"files elsewhere": {withUser(right, "{client-certificate: /nowhere/a.crt, client-key: /nowhere/a.key}"), want{"open /nowhere/a.crt": careful}},
		"insecure":        {strings.NewReplacer("certificate-authority-data", "x", "{server:", "{insecure-skip-tls-verify: true, server:").Replace(right), want{"an attacker on the network": careful}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var found findings
			found.checkKubeconfig([]byte(c.kubeconfig), "", "local", now)
			c.want.check(t, found)
		})
	}
}

// withUser replaces the credentials of a kubeconfig.
func withUser(kubeconfig, user string) string {
	before, _, _ := strings.Cut(kubeconfig, "users:")
	return before + "users: [{name: c, user: " + user + "}]\n"
}

func TestConnectToIngest(t *testing.T) {
	server := newPair(t, func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(5*24*time.Hour)
	})
	certificate, err := tls.X509KeyPair(server.cert, server.key)
	if err != nil {
		t.Fatal(err)
	}
	status := http.StatusNoContent
	ingest := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/audit/local" || string(body) != emptyList || len(r.TLS.PeerCertificates) != 1 {
			t.Errorf("%s %s with %d certificates: %s, %v", r.Method, r.URL, len(r.TLS.PeerCertificates), body, err)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "because")
	}))
	ingest.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	ingest.Config.ErrorLog = log.New(io.Discard, "", 0)
	ingest.StartTLS()
	t.Cleanup(ingest.Close)
	address := ingest.URL + "/v1/audit/local"
	for name, c := range map[string]struct {
		authority []byte
		status    int
		want      want
	}{
		"trusted": {server.cert, http.StatusNoContent, want{"expires in 4 days": careful}},
		"unknown": {newPair(t, func(*x509.Certificate) {}).cert, 0, want{"unknown authority": wrong}},
		"refused": {server.cert, http.StatusForbidden, want{"expires in 4 days": careful, "it refuses these credentials: 403 Forbidden because": wrong}},
		"faulty":  {server.cert, http.StatusNotFound, want{"expires in 4 days": careful, "it answers 404 Not Found because": wrong}},
	} {
		t.Run(name, func(t *testing.T) {
			kubeconfig := strings.Replace(kubeconfigOf(address, c.authority, server), "{server:", "{tls-server-name: localhost, server:", 1)
			var found findings
			target := found.checkKubeconfig([]byte(kubeconfig), "", "local", now)
			if target == nil {
				t.Fatal("it leads nowhere")
			}
			found, status = nil, c.status
			found.connect(t.Context(), target, webhookPort(target), time.Now())
			c.want.check(t, found)
		})
	}
}

// TestConnectWithoutTLS: an address without TLS is reported as wrong, and no credentials are sent to it.
func TestConnectWithoutTLS(t *testing.T) {
	ingest := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s", r.Method, r.URL) }))
	t.Cleanup(ingest.Close)
	kubeconfig := withUser(kubeconfigOf(ingest.URL+"/v1/audit/local", newPair(t, func(*x509.Certificate) {}).cert, pair{}), "{token: abc}")
	var found findings
	target := found.checkKubeconfig([]byte(kubeconfig), "", "local", now)
	found.connect(t.Context(), target, webhookPort(target), now)
	want{"is not https": wrong}.check(t, found)
	if !found.has(skipped) {
		t.Errorf("nothing says that the ingest was not asked: %+v", found)
	}
}
