package auth

import (
	"context"
	"crypto/tls"
	"fmt"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// Certificate is a server certificate and its key in files. Make it with NewCertificate.
type Certificate struct {
	content *dynamiccertificates.DynamicCertKeyPairContent
}

// NewCertificate reads both files.
func NewCertificate(certFile, keyFile string) (*Certificate, error) {
	content, err := dynamiccertificates.NewDynamicServingContentFromFiles("api", certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("certificate of the API: %w", err)
	}
	return &Certificate{content}, nil
}

// Run reads the files again when they change, until ctx ends.
func (c *Certificate) Run(ctx context.Context) error {
	c.content.Run(ctx, 1)
	return nil
}

func (c *Certificate) current() (*tls.Certificate, error) {
	cert, key := c.content.CurrentCertKeyContent()
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("certificate of the API: %w", err)
	}
	return &pair, nil
}

// TLSConfig returns how to serve with the certificate as it is at each handshake.
func (c *Certificate) TLSConfig() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current() },
	}
}
