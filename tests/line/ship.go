package line

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
)

// Ship posts a part of an audit log as a log shipper does, with the certificate of the line's cluster, and returns the status of the answer.
func (l *Line) Ship(ctx context.Context, contentType string, body []byte) (int, error) {
	pair, err := tls.X509KeyPair(l.files.client.CertPEM, l.files.client.KeyPEM)
	if err != nil {
		return 0, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(l.files.ca)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}}}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+l.ingest+"/v1/shipped/"+l.cluster, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", contentType)
	response, err := client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("ship audit events: %w", err)
	}
	return response.StatusCode, response.Body.Close()
}
