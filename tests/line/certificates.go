package line

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/reroll-dev/reroll/tests/pki"
)

// certificates are those of the audit webhook: a server's for reroll, in files of a folder, and a client's for the API server.
type certificates struct {
	ca     []byte
	client pki.KeyPair
	dir    string
}

// The files of a server's certificate, and of the CA that has issued it and its clients'.
const serverCert, serverKey, clientCA = "server.crt", "server.key", "client-ca.crt"

func issue(ca *pki.CA, dir, cluster string) (c certificates, err error) {
	c = certificates{ca: ca.CertPEM(), dir: dir}
	server, err := ca.Server("reroll", "127.0.0.1", "localhost")
	if err != nil {
		return c, err
	}
	if c.client, err = ca.Client(cluster + ".audit.reroll.dev"); err != nil {
		return c, err
	}
	for name, content := range map[string][]byte{serverCert: server.CertPEM, serverKey: server.KeyPEM, clientCA: c.ca} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	return c, err
}

// flags are those of an ingest that knows its cluster by certificate.
func (c certificates) flags() (flags []string) {
	for setting, name := range map[string]string{"tlsCert": serverCert, "tlsKey": serverKey, "tlsClientCA": clientCA} {
		flags = append(flags, "--set", "ingest."+setting+"="+filepath.Join(c.dir, name))
	}
	return flags
}
