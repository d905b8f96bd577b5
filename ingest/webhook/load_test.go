//go:build nightly

package webhook

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/reloader"
)

func TestSlowBodyIsCutOff(t *testing.T) {
	stored := &sink{}
	cases := map[string]bool{"HTTP/1.1": false, "HTTP/2": true}
	for name, h2 := range cases {
		t.Run(name, func(t *testing.T) {
			r := start(t, func(r *rig, o *Options) { o.Sink, r.tune = stored, shortTimeouts })
			reader, writer := io.Pipe()
			defer writer.Close()
			go func() { _, _ = io.WriteString(writer, body[:50]) }()
			got, err := r.do(r.client(h2), r.request(reader, nil))
			if err == nil && got.code != http.StatusRequestTimeout && got.code != http.StatusBadRequest {
				t.Errorf("got %d, want the request cut off", got.code)
			}
			if stored.count() != 0 {
				t.Error("half a body was stored")
			}
		})
	}
}

func TestSlowHeaderIsCutOff(t *testing.T) {
	r := start(t, func(r *rig, _ *Options) { r.tune = shortTimeouts })
	conn := r.begin("POST /v1/audit/prod HTTP/1.1\r\nHost: x\r\n")
	defer conn.Close()
	// The server ends this; were it not to, the test would hang.
	if _, err := io.ReadAll(conn); err != nil {
		t.Logf("connection ended with %v", err)
	}
}

// begin returns a connection on which the first lines of a request were sent. The server's timeouts are also those of the handshake, for which a
// busy machine may take longer, and then the next one is tried.
func (r *rig) begin(lines string) net.Conn {
	r.t.Helper()
	config := r.client(false).Transport.(*http.Transport).TLSClientConfig
	for end := time.Now().Add(time.Minute); ; {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(r.url, "https://"), config)
		if err == nil {
			if _, err = io.WriteString(conn, lines); err == nil {
				return conn
			}
			_ = conn.Close()
		}
		if time.Now().After(end) {
			r.t.Fatalf("no handshake within a minute: %v", err)
		}
	}
}

func TestLongHeaderIsRefused(t *testing.T) {
	r := start(t, nil)
	got, err := r.client(false).Do(r.request(strings.NewReader(body), func(r *http.Request) {
		r.Header.Set("X-Long", strings.Repeat("x", 2*maxHeaderBytes))
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("got %d, want 431", got.StatusCode)
	}
}

// TestRefusedBodyIsNotDrained posts a body that never ends to a server that refuses it by its header.
func TestRefusedBodyIsNotDrained(t *testing.T) {
	r := start(t, nil)
	conn, err := tls.Dial("tcp", strings.TrimPrefix(r.url, "https://"), r.client(false).Transport.(*http.Transport).TLSClientConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/audit/prod HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized || !res.Close {
		t.Errorf("got %d, close %t; want 401 and a closed connection", res.StatusCode, res.Close)
	}
}

func TestShutdownWaitsForRunningRequests(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	r := start(t, func(_ *rig, o *Options) {
		o.Sink = ingest.SinkFunc(func(context.Context, []reloader.Hint) error {
			close(entered)
			<-release
			return nil
		})
	})
	answers := make(chan answer, 1)
	client, req := r.client(true), r.request(strings.NewReader(body), nil)
	go func() {
		got, err := r.do(client, req)
		if err != nil {
			t.Error(err)
		}
		answers <- got
	}()
	<-entered
	down := make(chan error, 1)
	r.server.http.RegisterOnShutdown(sync.OnceFunc(func() { close(release) }))
	go func() { down <- r.server.Shutdown(context.Background()) }()
	if got := <-answers; got.code != http.StatusNoContent {
		t.Errorf("got %d, want the running request to end well", got.code)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
	if got, err := r.do(r.client(true), r.request(strings.NewReader(body), nil)); err == nil {
		t.Errorf("got %d after the shutdown", got.code)
	}
}

func TestShutdownCutsOffWhatDoesNotEnd(t *testing.T) {
	entered := make(chan struct{})
	r := start(t, func(_ *rig, o *Options) {
		o.Sink = ingest.SinkFunc(func(ctx context.Context, _ []reloader.Hint) error {
			close(entered)
			<-ctx.Done()
			return ctx.Err()
		})
	})
	failed := make(chan error, 1)
	client, req := r.client(true), r.request(strings.NewReader(body), nil)
	go func() {
		_, err := r.do(client, req)
		failed <- err
	}()
	<-entered
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.server.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	if err := <-failed; err == nil {
		t.Error("the request that was cut off got an answer")
	}
}

func TestShutdownWithoutServe(t *testing.T) {
	server, err := New(Options{Address: "127.0.0.1:0", InsecureHTTP: true, Sink: &sink{}})
	if err != nil {
		t.Fatal(err)
	}
	address, err := server.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := New(Options{Address: address.String(), InsecureHTTP: true, Sink: &sink{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Listen(t.Context()); err != nil {
		t.Errorf("the port is still taken: %v", err)
	}
	if err := again.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestPortThatIsTaken(t *testing.T) {
	r := start(t, nil)
	address := strings.TrimPrefix(r.url, "https://")
	second, err := New(Options{Address: address, InsecureHTTP: true, Sink: &sink{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Listen(t.Context()); err == nil || !strings.Contains(err.Error(), address) {
		t.Errorf("got %v, want an error that names the address", err)
	}
}

// shortTimeouts makes the timeouts of a test's server bearable.
func shortTimeouts(s *http.Server) {
	s.ReadHeaderTimeout, s.ReadTimeout = 100*time.Millisecond, 100*time.Millisecond
}
