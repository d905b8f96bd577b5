package line

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"

	"github.com/reroll-dev/reroll/tests/pki"
)

// sender is who posts to ingest.
type sender struct {
	ca      []byte
	pair    pki.KeyPair
	ingest  string
	cluster string
}

// Ship posts a part of an audit log as a log shipper does, with the certificate of the line's cluster, and returns the status of the
// answer.
func (l *Line) Ship(ctx context.Context, contentType, contentEncoding string, body []byte) (int, error) {
	pair, err := tls.X509KeyPair(l.sender.pair.CertPEM, l.sender.pair.KeyPEM)
	if err != nil {
		return 0, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(l.sender.ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}}
	defer transport.CloseIdleConnections()
	url := "https://" + l.sender.ingest + "/v1/shipped/" + l.sender.cluster
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", contentType)
	if contentEncoding != "" {
		request.Header.Set("Content-Encoding", contentEncoding)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, fmt.Errorf("ship a part of the audit log: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer))
	return response.StatusCode, err
}
