//go:build unix

package cli

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// forwarder stands for kubectl, and forwards to what $FORWARD names.
const forwarder = `#!/bin/sh
echo "$@" >> "$CALLED"
trap 'exit 0' INT
echo "Forwarding from $FORWARD -> 8080"
i=0; while [ $((i += 1)) -lt 400 ]; do sleep 0.05; done
`

// certified has a server that asks for certificates, and kubectl forward to it. It returns the files of its own certificate, which is of 127.0.0.1 and
// serves as anybody's, of the key, and the one that tells how kubectl was called.
func certified(t *testing.T) (certificate, key, called string) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"shown":"`+r.TLS.PeerCertificates[0].Subject.Organization[0]+`"}`)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	dir := t.TempDir()
	certificate, key, called = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "called")
	der, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, certificate, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	writeFile(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(forwarder), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("CALLED", called)
	t.Setenv("FORWARD", strings.TrimPrefix(server.URL, "https://"))
	return certificate, key, called
}

// TestCertificatesAreShownThroughACluster: who names a certificate speaks TLS with the server behind the forwarded port.
func TestCertificatesAreShownThroughACluster(t *testing.T) {
	certificate, key, called := certified(t)
	var to target
	cmd := &cobra.Command{}
	to.bind(cmd)
	if err := cmd.ParseFlags([]string{"--context=east", "--certificate-authority", certificate, "--client-certificate", certificate, "--client-key", key}); err != nil {
		t.Fatal(err)
	}
	c, err := to.client(t.Context(), "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(to.close)
	t.Cleanup(c.http.CloseIdleConnections)
	if answer, err := c.get(t.Context(), "/api/v1/self", nil); err != nil || !strings.Contains(string(answer), "Acme Co") {
		t.Errorf("it answers %s: %v", answer, err)
	}
	if text, err := os.ReadFile(called); err != nil || !strings.HasPrefix(string(text), "--context=east port-forward ") {
		t.Errorf("kubectl was called with %q: %v", text, err)
	}
}

// TestCertificatesAreReadBeforeForwarding: a mistake in them is told of before anything begins.
func TestCertificatesAreReadBeforeForwarding(t *testing.T) {
	certificate, _, called := certified(t)
	for _, args := range [][]string{
		{"--client-certificate", certificate},
		{"--client-certificate", certificate, "--client-key", certificate},
		{"--certificate-authority", called},
		{"--token-file", called},
	} {
		if _, err := clientOfFlags(t, append(args, "--context=east")...); err == nil {
			t.Errorf("%q are taken", args)
		}
		if text, err := os.ReadFile(called); err == nil {
			t.Fatalf("%q: kubectl was called: %s", args, text)
		}
	}
}
