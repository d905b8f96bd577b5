package hot

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
	"github.com/reroll-dev/reroll/tests/pki"
)

// podAddress is that of the pods of these tests.
const podAddress = "10.1.2.3"

var reload = dialect.Request{Method: "POST", Port: "web", Path: "/-/reload?now=1&path=%2Fetc"}

func podAt(address string) workload.RunningPod {
	return workload.RunningPod{
		Name: "web-a", UID: "u", Namespace: "shop", Refreshed: "4711", Address: address,
		Node:          "n",
		NodeAddresses: []netip.Addr{netip.MustParseAddr("192.168.0.4"), netip.MustParseAddr("fd01::4")},
		Ports:         []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}, {ContainerPort: 9090}},
	}
}

// callerTo returns a Caller whose connections all lead to the address of a server, and where they were meant to lead.
func callerTo(server string) (c *Caller, dialed *[]string) {
	dialed = &[]string{}
	c = New("v1.2.3", func(context.Context) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("10.96.0.1")}, nil
	})
	c.dial = func(ctx context.Context, protocol, address string) (net.Conn, error) {
		*dialed = append(*dialed, address)
		return (&net.Dialer{}).DialContext(ctx, protocol, server)
	}
	return c, dialed
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// raw answers with text, whatever it is.
func raw(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	}
}

// TestCall: the pod gets exactly the request of the annotation, at its own address, with the token and nothing else of ours.
func TestCall(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	requests := make(chan *http.Request, 1)
	c, dialed := callerTo(serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests <- r
		_, _ = io.WriteString(w, "reloaded")
	}))
	answer, err := c.Call(t.Context(), podAt(podAddress), reload, map[string][]byte{"token": []byte(" t0ken\n")})
	if err != nil || string(answer) != "reloaded" {
		t.Fatalf("%q, %v", answer, err)
	}
	r := <-requests
	got := []string{r.Method, r.RequestURI, r.Host, r.Header.Get("Authorization"), r.Header.Get("User-Agent"), r.Header.Get("Content-Length")}
	if want := []string{"POST", reload.Path, podAddress + ":8080", "Bearer t0ken", c.agent + "4711)", "0"}; !slices.Equal(got, want) {
		t.Errorf("the pod got %q, want %q", got, want)
	}
	if process := fmt.Sprintf("/%d 4711)", os.Getpid()); !strings.HasPrefix(got[4], "reroll/v1.2.3 (") || !strings.HasSuffix(got[4], process) {
		t.Errorf("the agent is %q, want one that ends with %q", got[4], process)
	}
	if _, err := c.Call(t.Context(), podAt("fd00::7"), dialect.Request{Method: "GET", Port: "9090", Path: "/metrics"}, nil); err != nil {
		t.Fatal(err)
	}
	if r := <-requests; r.Header.Get("Authorization") != "" || r.Header.Get("Accept-Encoding") != "" {
		t.Errorf("the pod got the header %v", r.Header)
	}
	if want := []string{podAddress + ":8080", "[fd00::7]:9090"}; !slices.Equal(*dialed, want) {
		t.Errorf("connections to %q, want %q", *dialed, want)
	}
}

// TestNotCalled: what is not the pod's own, declared and harmless gets no connection, and no later try will.
func TestNotCalled(t *testing.T) {
	c, dialed := callerTo(serve(t, func(http.ResponseWriter, *http.Request) {}))
	never := func(what string, pod workload.RunningPod, port string, secret map[string][]byte) {
		_, err := c.Call(t.Context(), pod, dialect.Request{Method: "POST", Port: port, Path: "/"}, secret)
		if refused, ok := errors.AsType[*Error](err); !ok || !refused.Refused() {
			t.Errorf("%s: error %v, want a refusal", what, err)
		}
	}
	for _, address := range []string{
		"127.0.0.1", "::1", "0.0.0.0", "::", "169.254.169.254", "fe80::1", "fe80::1%eth0", "224.0.0.1", "ff02::1", "255.255.255.255", "::ffff:127.0.0.1",
		"::ffff:169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.168.0.4", "::ffff:192.168.0.4", "fd01::4", "fd01:0::4", "10.96.0.1", "localhost", "10.1.2.3:80", "10.1.2", "0x7f.1",
	} {
		never(address, podAt(address), "web", nil)
	}
	host := podAt(podAddress)
	host.HostNetwork = true
	never("the network of the node", host, "web", nil)
	never("an undeclared port", podAt(podAddress), "6443", nil)
	never("an undeclared name", podAt(podAddress), "admin", nil)
	for name, secret := range map[string]map[string][]byte{
		"a token of two lines": {"token": []byte("a\r\nX-Admin: yes")}, "a long token": {"token": bytes.Repeat([]byte("x"), maxToken+1)},
		"a Secret without credentials": {"password": []byte("x")}, "TLS with any server": {"token": []byte("x"), "tls.crt": []byte("x"), "tls.key": []byte("x")},
		"no CA": {"ca.crt": []byte("x")}, "no client certificate": {"ca.crt": newCA(t).CertPEM(), "tls.crt": []byte("x"), "tls.key": []byte("x")},
	} {
		never(name, podAt(podAddress), "web", secret)
	}
	_, err := c.Call(t.Context(), podAt(""), reload, nil)
	if waits, ok := errors.AsType[*Error](err); !ok || waits.Refused() {
		t.Errorf("a pod that has no address yet: %v", err)
	}
	lost := errors.New("leadership lost")
	c.denied = func(context.Context) ([]netip.Addr, error) { return nil, lost }
	if _, err := c.Call(t.Context(), podAt(podAddress), reload, nil); !errors.Is(err, lost) {
		t.Errorf("error %v, want that of the fence", err)
	}
	if len(*dialed) > 0 {
		t.Errorf("connections to %q", *dialed)
	}
}

// TestAnswers: only 2xx is success, nothing of an answer is in an error, and each answer costs one request, little time and little memory.
func TestAnswers(t *testing.T) {
	const secret = "hunter2"
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://"+secret+".example/")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, secret)
		}
	}
	endless := func(w http.ResponseWriter, r *http.Request) {
		for data := bytes.Repeat([]byte(secret), 1000); r.Context().Err() == nil; {
			_, _ = w.Write(data)
		}
	}
	silent := func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}
	for name, test := range map[string]struct {
		handle  http.HandlerFunc
		says    string
		refused bool
	}{
		"redirect":          {status(307), "status 307", true},
		"too many requests": {status(429), "status 429", false},
		"invalid content":   {status(500), "status 500", false},
		"endless body":      {endless, "", false},
		"silent":            {silent, "in time", false},
		"slow body": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, secret)
			_ = http.NewResponseController(w).Flush()
			silent(w, r)
		}, "in time", false},
		"no HTTP":     {raw(secret + "\r\n\r\n"), "no HTTP answer", false},
		"long header": {raw("HTTP/1.1 200 OK\r\nA: " + strings.Repeat(secret, 20000) + "\r\n\r\n"), "no HTTP answer", false},
		"half a body": {raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + secret), "no HTTP answer", false},
		"upgrade":     {raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" + secret), "status 101", false},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			c, dialed := callerTo(serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				test.handle(w, r)
			}))
			c.callTime = time.Second
			answer, err := c.Call(t.Context(), podAt(podAddress), reload, nil)
			if len(answer) > maxAnswerBytes || asked.Load() != 1 || len(*dialed) != 1 {
				t.Errorf("%d bytes of answers to %d requests through %d connections", len(answer), asked.Load(), len(*dialed))
			}
			if test.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			got, ok := errors.AsType[*Error](err)
			if !ok || got.Refused() != test.refused || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), secret) {
				t.Errorf("error %v, refused: %t; want one that says %q, refused: %t", err, ok && got.Refused(), test.says, test.refused)
			}
		})
	}
}

// TestNoPlainHTTP: servers that want TLS, or that are not there, are errors of one line.
func TestNoPlainHTTP(t *testing.T) {
	secure := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(secure.Close)
	mesh := serve(t, raw("\x15\x03\x01\x00\x02\x02\x0a")) // a TLS alert: unexpected message
	closed := httptest.NewServer(nil)
	closed.Close()
	for says, address := range map[string]string{"status 400": secure.Listener.Addr().String(), "client certificate": mesh, "connection refused": closed.Listener.Addr().String()} {
		c, _ := callerTo(address)
		_, err := c.Call(t.Context(), podAt(podAddress), reload, nil)
		if err == nil || !strings.Contains(err.Error(), says) || strings.ContainsAny(err.Error(), "\n\x15") {
			t.Errorf("error %v, want one that says %s", err, says)
		}
	}
}

func newCA(t *testing.T) *pki.CA {
	t.Helper()
	ca, err := pki.NewCA("pods")
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// TestTLS: a server that requires a client certificate gets that of the Secret, and the token; one that the CA of the Secret has not signed, or that speaks
// no TLS, gets no request.
func TestTLS(t *testing.T) {
	ours, other := newCA(t), newCA(t)
	pair := func(ca *pki.CA, usage x509.ExtKeyUsage) pki.KeyPair {
		p, err := ca.Issue("any name", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{usage} })
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	client := pair(ours, x509.ExtKeyUsageClientAuth)
	mutual := map[string][]byte{"ca.crt": ours.CertPEM(), "tls.crt": client.CertPEM, "tls.key": client.KeyPEM, "token": []byte("t0ken")}
	for name, c := range map[string]struct {
		server pki.KeyPair
		secret map[string][]byte
		says   string
	}{
		"mutual":                         {pair(ours, x509.ExtKeyUsageServerAuth), mutual, ""},
		"no client certificate":          {pair(ours, x509.ExtKeyUsageServerAuth), map[string][]byte{"ca.crt": ours.CertPEM(), "token": []byte("t0ken")}, "tls: certificate required"},
		"a server of another CA":         {pair(other, x509.ExtKeyUsageServerAuth), mutual, "not valid under ca.crt"},
		"a certificate that serves none": {pair(ours, x509.ExtKeyUsageClientAuth), mutual, "not valid under ca.crt"},
		"no TLS":                         {pki.KeyPair{}, mutual, "or not speak TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			requests := make(chan *http.Request, 1)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { requests <- r }))
			server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
			t.Cleanup(server.Close)
			if c.server.CertPEM == nil {
				server.Start()
			} else {
				certificate, err := tls.X509KeyPair(c.server.CertPEM, c.server.KeyPEM)
				if err != nil {
					t.Fatal(err)
				}
				roots := x509.NewCertPool()
				roots.AppendCertsFromPEM(ours.CertPEM())
				server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: roots, MinVersion: tls.VersionTLS12}
				server.StartTLS()
			}
			caller, _ := callerTo(server.Listener.Addr().String())
			_, err := caller.Call(t.Context(), podAt(podAddress), reload, c.secret)
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) || len(requests) > 0 {
					t.Errorf("error %v, want one that says %s; %d requests", err, c.says, len(requests))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if r := <-requests; len(r.TLS.PeerCertificates) != 1 || r.Header.Get("Authorization") != "Bearer t0ken" {
				t.Errorf("the pod got the header %v", r.Header)
			}
		})
	}
}
