package hot

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"strings"
)

// maxToken bounds a token, which is part of the header of a request.
const maxToken = 16 << 10

// dress gives a request the credentials that are in the data of a Secret, and returns what its connection needs; nil for one without TLS. The key token is
// a bearer token. With ca.crt the request is sent over TLS, to a pod whose certificate that CA has signed, and tls.crt and tls.key are the client
// certificate. There is no TLS without ca.crt: it would look safe, and any pod could take the token.
func dress(req *http.Request, secret map[string][]byte) (*tls.Config, error) {
	token := strings.TrimSpace(string(secret["token"]))
	ca, cert := secret["ca.crt"], secret["tls.crt"]
	switch {
	case secret == nil:
		return nil, nil
	case len(ca) == 0 && (token == "" || len(cert) > 0):
		return nil, refusal("the Secret needs the key token, or ca.crt for TLS")
	case len(token) > maxToken, strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, refusal("the token is not one word of printable characters")
	case token != "":
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if len(ca) == 0 {
		return nil, nil
	}
	req.URL.Scheme = "https"
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, refusal("ca.crt of the Secret has no certificate")
	}
	secure := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection checks all but the name: a pod has none that stays
		VerifyConnection: func(s tls.ConnectionState) error {
			between := x509.NewCertPool()
			for _, c := range s.PeerCertificates[1:] {
				between.AddCert(c)
			}
			if _, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between}); err != nil {
				return &Error{"the pod's certificate is not valid under ca.crt of the Secret", false}
			}
			return nil
		},
	}
	if len(cert) > 0 {
		pair, err := tls.X509KeyPair(cert, secret["tls.key"])
		if err != nil {
			return nil, refusal("tls.crt and tls.key of the Secret are no certificate and its key")
		}
		secure.Certificates = []tls.Certificate{pair}
	}
	return secure, nil
}
