package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader"
)

const secretToken = "a-token-of-sufficient-length"

// body is an EventList with one event that matters and one that does not.
const body = `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[{"stage":"ResponseComplete","auditID":"a-1",` +
	`"requestURI":"/","verb":"update","user":{"username":"ana"},"objectRef":{"resource":"secrets","namespace":"shop","name":"db",` +
	`"apiVersion":"v1"},"responseStatus":{"code":200},"stageTimestamp":"2026-11-21T12:00:00.000000Z"},{}]}` + "\n"

// sink remembers hints.
type sink struct {
	mu    sync.Mutex
	hints []reloader.Hint
	err   error
}

func (s *sink) Put(_ context.Context, hints []reloader.Hint) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.hints = append(s.hints, hints...)
	}
	return s.err
}

func (s *sink) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.hints)
}

// rig is a running server with the CAs it uses.
type rig struct {
	t         testing.TB
	server    *Server
	url       string
	serverCA  *authority
	clientCA  *authority
	clients   atomic.Pointer[x509.CertPool]
	registry  *prometheus.Registry
	log       *syncBuffer
	closeIdle []func()
}

type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start runs a server with TLS and both ways of authentication, as change changes it.
func start(t testing.TB, change func(*rig, *Options)) *rig {
	t.Helper()
	r := &rig{t: t, serverCA: newAuthority(t, "server CA"), clientCA: newAuthority(t, "client CA"), registry: prometheus.NewRegistry(), log: &syncBuffer{}}
	opts := Options{
		Address: "127.0.0.1:0", ClientCAs: r.clients.Load,
		TokenFile:  r.clientCA.write("tokens", []byte("# clusters\nprod:"+secretToken+"\n")),
		Sink:       &sink{},
		Registerer: r.registry,
		Logger:     slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	r.clients.Store(r.clientCA.pool())
	shown := r.serverCA.pair("server", localhost)
	opts.Certificate = func() (*tls.Certificate, error) { return &shown, nil }
	if change != nil {
		change(r, &opts)
	}
	server, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	r.server = server
	r.serve(opts.InsecureHTTP)
	return r
}

func (r *rig) serve(insecure bool) {
	r.t.Helper()
	address, err := r.server.Listen(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	r.url = "https://" + address.String()
	if insecure {
		r.url = "http://" + address.String()
	}
	done := make(chan error, 1)
	go func() { done <- r.server.Serve() }()
	r.t.Cleanup(func() {
		for _, f := range r.closeIdle {
			f()
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := r.server.Shutdown(ctx); err != nil {
			r.t.Error(err)
		}
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	})
}

// client returns a client that trusts the server and shows a certificate if there is one, also to a server that asks for others.
func (r *rig) client(h2 bool, certs ...tls.Certificate) *http.Client {
	config := &tls.Config{RootCAs: r.serverCA.pool()}
	if len(certs) > 0 {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certs[0], nil }
	}
	transport := &http.Transport{
		ForceAttemptHTTP2: h2,
		TLSClientConfig:   config,
		// So many that parallel requests do not close each other's connections.
		MaxIdleConnsPerHost: 300,
	}
	r.closeIdle = append(r.closeIdle, transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// request returns what a real sender would send for cluster prod.
func (r *rig) request(content io.Reader, change func(*http.Request)) *http.Request {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.url+"/v1/audit/prod?timeout=30s", content)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+secretToken)
	if change != nil {
		change(req)
	}
	return req
}

// answer is a response as tests look at it.
type answer struct {
	code   int
	header http.Header
	status metav1.Status
	proto  int
}

func (r *rig) do(c *http.Client, req *http.Request) (answer, error) {
	r.t.Helper()
	res, err := c.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{code: res.StatusCode, header: res.Header, proto: res.ProtoMajor}
	if a.code == http.StatusNoContent {
		return a, nil
	}
	if err := json.Unmarshal(text, &a.status); err != nil {
		return a, fmt.Errorf("answer %d is no Status: %q", a.code, text)
	}
	return a, nil
}

func (r *rig) must(c *http.Client, req *http.Request) answer {
	r.t.Helper()
	a, err := r.do(c, req)
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

// metric returns the sum of a counter or gauge, or the number of observations, over the label values given.
func (r *rig) metric(name string, value ...string) float64 {
	r.t.Helper()
	total := 0.0
	for _, m := range r.series(name, value...) {
		total += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
	}
	return total
}
