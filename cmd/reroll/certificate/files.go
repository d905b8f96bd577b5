package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// Files is a certificate and its key in files, which are read again when they change. While they cannot be used, the last good ones stay.
type Files struct {
	content *dynamiccertificates.DynamicCertKeyPairContent
}

// NewFiles reads both files. use is what the certificate is for, in errors and logs.
func NewFiles(use, cert, key string) (*Files, error) {
	_, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("certificate of %s (%s): %w", use, cert, err)
	}
	content, err := dynamiccertificates.NewDynamicServingContentFromFiles(use, cert, key)
	return &Files{content}, err
}

// Run reads the files again when they change, until ctx ends.
func (f *Files) Run(ctx context.Context) error {
	f.content.Run(ctx, 1)
	return nil
}

// Get returns the certificate as it was last read.
func (f *Files) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	cert, key := f.content.CurrentCertKeyContent()
	pair, err := tls.X509KeyPair(cert, key)
	return &pair, err
}

// Check returns why API servers would not accept the certificate.
func (f *Files) Check() error {
	pair, err := f.Get(nil)
	switch {
	case err != nil:
		return err
	case time.Now().After(pair.Leaf.NotAfter):
		return fmt.Errorf("certificate of %s expired at %s", f.content.Name(), pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
	case len(pair.Leaf.DNSNames)+len(pair.Leaf.IPAddresses) == 0:
		return errors.New("certificate of " + f.content.Name() + " has no subject alternative name, and API servers check nothing else")
	}
	return nil
}

// CAs are the CAs in a file, which is read again when it changes. While it cannot be used, the last good ones stay.
type CAs struct {
	content *dynamiccertificates.DynamicFileCAContent
}

// NewCAs reads the file. use is what the CAs are for, in errors and logs.
func NewCAs(use, file string) (*CAs, error) {
	_, err := os.Stat(file)
	var content *dynamiccertificates.DynamicFileCAContent
	if err == nil {
		content, err = dynamiccertificates.NewDynamicCAContentFromFile(use, file)
	}
	if err != nil {
		return nil, fmt.Errorf("CA of %s (%s): %w", use, file, err)
	}
	return &CAs{content}, nil
}

// Run reads the file again when it changes, until ctx ends.
func (c *CAs) Run(ctx context.Context) error {
	c.content.Run(ctx, 1)
	return nil
}

// Pool returns the CAs as they were last read.
func (c *CAs) Pool() *x509.CertPool {
	options, _ := c.content.VerifyOptions()
	return options.Roots
}
