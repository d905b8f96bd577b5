package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reroll-dev/reroll/tests/pki"
)

// weather is what the proxy does to audit batches.
type weather struct {
	// Cut breaks every connection without an answer.
	Cut bool
	// Drop is the share of batches that are answered and thrown away.
	Drop float64
	// Unruly sends each batch one to five times, some late and some once more after newer ones.
	Unruly bool
}

// proxy stands between the API server and ingest. Its own answers are the truth in all but one case: a dropped batch is said to be
// stored.
type proxy struct {
	dice   *dice
	target string
	client *http.Client
	server *http.Server

	mu      sync.Mutex
	weather weather

	batches, dropped, repeats, cuts, refused atomic.Int64
	echoes                                   sync.WaitGroup
}

// maxBatch bounds what is read of one batch.
const maxBatch = 64 << 20

// forwardTime bounds one request to ingest.
const forwardTime = 30 * time.Second

// startProxy listens at address and forwards to target, both as host and port.
func startProxy(address, target string, ca *pki.CA, d *dice) (*proxy, error) {
	server, err := ca.Server("proxy", "127.0.0.1")
	if err != nil {
		return nil, err
	}
	client, err := ca.Client(clusterName + ".audit.reroll.dev")
	if err != nil {
		return nil, err
	}
	served, err := tls.X509KeyPair(server.CertPEM, server.KeyPEM)
	if err != nil {
		return nil, err
	}
	shown, err := tls.X509KeyPair(client.CertPEM, client.KeyPEM)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.CertPEM())
	p := &proxy{dice: d, target: "https://" + target}
	p.client = &http.Client{Timeout: forwardTime, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{shown}}, ForceAttemptHTTP2: true,
	}}
	p.server = &http.Server{
		Handler: p, TLSConfig: &tls.Config{Certificates: []tls.Certificate{served}}, ReadHeaderTimeout: forwardTime,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("the proxy cannot listen: %w", err)
	}
	go func() { _ = p.server.ServeTLS(listener, "", "") }() // it ends with stop
	return p, nil
}

// stop closes the proxy and waits for what it still sends.
func (p *proxy) stop() {
	_ = p.server.Close()
	p.echoes.Wait()
	p.client.CloseIdleConnections()
}

func (p *proxy) set(w weather) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.weather = w
}

func (p *proxy) now() weather {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.weather
}

// ServeHTTP takes one batch.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBatch))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	p.batches.Add(1)
	now := p.now()
	switch {
	case now.Cut:
		p.cuts.Add(1)
		panic(http.ErrAbortHandler)
	case p.dice.chance(now.Drop):
		p.dropped.Add(1)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	code, err := p.deliver(r, body, now.Unruly)
	if err != nil {
		p.refused.Add(1)
		panic(http.ErrAbortHandler)
	}
	if code >= http.StatusMultipleChoices {
		p.refused.Add(1)
	}
	w.WriteHeader(code)
}

// The manners of an unruly proxy.
const (
	mostRepeats = 4
	longestLag  = 400 * time.Millisecond
	longestEcho = 4 * time.Second
)

// deliver sends a batch, and returns the first code that says it is stored, or else the last code.
func (p *proxy) deliver(r *http.Request, body []byte, unruly bool) (int, error) {
	if !unruly {
		return p.send(r.Context(), r, body)
	}
	pause(r.Context(), p.dice.upTo(longestLag)) // others overtake it
	code, err := p.send(r.Context(), r, body)
	echo := context.WithoutCancel(r.Context())
	for range p.dice.n(mostRepeats + 1) {
		p.repeats.Add(1)
		lag := p.dice.upTo(longestEcho)
		p.echoes.Go(func() {
			pause(echo, lag)
			_, _ = p.send(echo, r, body) // a repetition that fails is none
		})
	}
	return code, err
}

func (p *proxy) send(ctx context.Context, r *http.Request, body []byte) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.target+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", r.Header.Get("Content-Type"))
	response, err := p.client.Do(request)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, errors.Join(err, response.Body.Close())
}
