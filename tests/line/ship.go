package line

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
)

// Sender posts to the ingest of a line over connections of its own, with the certificate of the line's cluster.
type Sender struct {
	client       *http.Client
	url, cluster string
}

// NewSender returns a Sender. The caller closes it.
func (l *Line) NewSender() (*Sender, error) {
	pair, err := tls.X509KeyPair(l.files.client.CertPEM, l.files.client.KeyPEM)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(l.files.ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}}
	return &Sender{&http.Client{Transport: transport}, "https://" + l.ingest, l.cluster}, nil
}

// Close ends the connections.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// Audit posts a list of events as an API server does, and returns the status of the answer.
func (s *Sender) Audit(ctx context.Context, body []byte) (int, error) {
	return s.post(ctx, "/v1/audit/", "application/json", body)
}

func (s *Sender) post(ctx context.Context, path, contentType string, body []byte) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path+s.cluster, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", contentType)
	response, err := s.client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("send audit events: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer))
	return response.StatusCode, err
}

// Ship posts a part of an audit log as a log shipper does, and returns the status of the answer.
func (l *Line) Ship(ctx context.Context, contentType string, body []byte) (int, error) {
	s, err := l.NewSender()
	if err != nil {
		return 0, err
	}
	defer s.Close()
	return s.post(ctx, "/v1/shipped/", contentType, body)
}
