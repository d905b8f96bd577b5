package line

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/reroll-dev/reroll/tests/pki"
)

// certificates are those of the audit webhook: a server's for reroll and a client's for the API server.
type certificates struct {
	ca                              []byte
	client                          pki.KeyPair
	serverCert, serverKey, clientCA string
}

func makeCertificates(dir, cluster string) (certificates, error) {
	ca, err := pki.NewCA("audit")
	if err != nil {
		return certificates{}, err
	}
	server, err := ca.Server("reroll", "127.0.0.1", "localhost")
	if err != nil {
		return certificates{}, err
	}
	client, err := ca.Client(cluster + ".audit.reroll.dev")
	if err != nil {
		return certificates{}, err
	}
	c := certificates{
		ca: ca.CertPEM(), client: client,
		serverCert: filepath.Join(dir, "server.crt"), serverKey: filepath.Join(dir, "server.key"), clientCA: filepath.Join(dir, "client-ca.crt"),
	}
	for file, content := range map[string][]byte{
		c.serverCert: server.CertPEM, c.serverKey: server.KeyPEM, c.clientCA: ca.CertPEM(),
		filepath.Join(dir, clientCert): client.CertPEM, filepath.Join(dir, clientKey): client.KeyPEM,
	} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return certificates{}, err
		}
	}
	return c, nil
}

// The files of the API server's certificate, for who sends in its name.
const clientCert, clientKey = "client.crt", "client.key"

// readCertificates reads what makeCertificates has made in a directory.
func readCertificates(dir string) (certificates, error) {
	c := certificates{
		serverCert: filepath.Join(dir, "server.crt"), serverKey: filepath.Join(dir, "server.key"), clientCA: filepath.Join(dir, "client-ca.crt"),
	}
	var errs [3]error
	c.ca, errs[0] = os.ReadFile(c.clientCA)
	c.client.CertPEM, errs[1] = os.ReadFile(filepath.Join(dir, clientCert))
	c.client.KeyPEM, errs[2] = os.ReadFile(filepath.Join(dir, clientKey))
	return c, errors.Join(errs[:]...)
}

// flags are those of an ingest that knows its cluster by certificate.
func (c certificates) flags() []string {
	return []string{"--set", "ingest.tlsCert=" + c.serverCert, "--set", "ingest.tlsKey=" + c.serverKey, "--set", "ingest.tlsClientCA=" + c.clientCA}
}
