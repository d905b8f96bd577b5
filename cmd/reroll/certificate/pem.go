package certificate

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// ParsePEM reads the certificates in PEM, one at least and most at the most, and skips other blocks. No error quotes what was read.
func ParsePEM(content []byte, most int) (all []*x509.Certificate, err error) {
	for {
		var block *pem.Block
		if block, content = pem.Decode(content); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if len(all) == most {
			return nil, fmt.Errorf("there are more than %d certificates", most)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d cannot be read", len(all)+1)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, errors.New("there is no certificate in PEM")
	}
	return all, nil
}
