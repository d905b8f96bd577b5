package contract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
)

const (
	// maxDocument bounds the document that is fetched, in bytes.
	maxDocument = 8 << 20
	// maxFaults bounds how many violations are kept; one is usually told again and again.
	maxFaults = 20
)

// Wire is the way to a server on which every exchange is held against the document that the server itself serves. What goes over it goes
// over it unchanged. Make one with Tap.
type Wire struct {
	next     http.RoundTripper
	contract *Contract

	mu     sync.Mutex
	faults []error
	seen   map[string]int
}

// Tap fetches the document of the API at a URL over next, and returns a way there that listens.
func Tap(ctx context.Context, next http.RoundTripper, api string) (*Wire, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, api+"/openapi.json", nil)
	if err != nil {
		return nil, err
	}
	answer, err := next.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("fetch the served document: %w", err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	document, err := io.ReadAll(io.LimitReader(answer.Body, maxDocument))
	if err != nil || answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch the served document: %s, %w", answer.Status, err)
	}
	c, err := New(document)
	return &Wire{next: next, contract: c, seen: map[string]int{}}, err
}

// Over returns a Wire that tells the same Faults and Seen, and whose requests go over another transport: those of another client.
func (w *Wire) Over(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) { return w.carry(next, r) })
}

// RoundTrip implements http.RoundTripper.
func (w *Wire) RoundTrip(r *http.Request) (*http.Response, error) { return w.carry(w.next, r) }

// Handler passes requests on to the API at a URL: for clients that are other processes.
func (w *Wire) Handler(api *url.URL) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(api)
			p.Out.Header.Del("Accept-Encoding") // so that the transport undoes what it has asked for itself
		},
		Transport:     w,
		FlushInterval: -1, // each event as soon as it is there
		ErrorHandler:  func(to http.ResponseWriter, _ *http.Request, _ error) { to.WriteHeader(http.StatusBadGateway) },
	}
}

// Faults returns what was against the document so far, nil if nothing was.
func (w *Wire) Faults() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(w.faults...)
}

// Seen returns how many exchanges were held against the document, by method, the path's first part below /api/v1/ and the status of the
// answer, such as "GET reloads 200". A test that wants to be sure that it heard something asks for it.
func (w *Wire) Seen() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := make(map[string]int, len(w.seen))
	for key, n := range w.seen {
		seen[key] = n
	}
	return seen
}

// carry sends r over next. A stream of events is held against the document when it ends, all else before it is handed on.
func (w *Wire) carry(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	body, err := drain(r)
	if err != nil {
		return nil, err
	}
	answer, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		head := *answer
		answer.Body = &stream{ReadCloser: answer.Body, ended: func() { head.Body = http.NoBody; w.hold(r, body, &head, nil) }}
		return answer, nil
	}
	said, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return nil, err
	}
	w.hold(r, body, answer, said)
	answer.Body = io.NopCloser(bytes.NewReader(said))
	return answer, nil
}

// hold holds one exchange against the document, if the document says something about it.
func (w *Wire) hold(r *http.Request, body []byte, answer *http.Response, said []byte) {
	if !Covers(r, answer.StatusCode, said) {
		return
	}
	answer.Body = io.NopCloser(bytes.NewReader(said))
	err := w.contract.Exchange(r, body, answer)
	w.mu.Lock()
	defer w.mu.Unlock()
	resource, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, Prefix), "/")
	w.seen[fmt.Sprintf("%s %s %d", r.Method, resource, answer.StatusCode)]++
	if err != nil && len(w.faults) < maxFaults {
		w.faults = append(w.faults, err)
	}
}

// drain reads the body of r and puts it back.
func drain(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// stream is a body that tells once that it was closed.
type stream struct {
	io.ReadCloser
	once  sync.Once
	ended func()
}

func (s *stream) Close() error {
	s.once.Do(s.ended)
	return s.ReadCloser.Close()
}
