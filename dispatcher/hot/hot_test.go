package hot

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// podAddress is that of the pods of these tests.
const podAddress = "10.1.2.3"

func podAt(address string) workload.RunningPod {
	return workload.RunningPod{
		Name: "web-a", UID: "u", Workload: reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "web"}, Address: address,
		Node: "n", NodeAddresses: []string{"192.168.0.4", "fd01::4"}, Ports: []workload.Port{{Name: "web", Number: 8080}, {Number: 9090}},
	}
}

// network stands for that of the pods: every connection leads to one server, and dialed has what was asked for.
type network struct {
	mu     sync.Mutex
	dialed []string
}

// callerTo returns a Caller whose network leads to the address of a server.
func callerTo(server string) (*Caller, *network) {
	n := &network{}
	c := New(Options{Version: "v1.2.3", Denied: func(context.Context) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("10.96.0.1")}, nil
	}})
	c.transport.DialContext = func(ctx context.Context, protocol, address string) (net.Conn, error) {
		n.mu.Lock()
		n.dialed = append(n.dialed, address)
		n.mu.Unlock()
		return (&net.Dialer{}).DialContext(ctx, protocol, server)
	}
	return c, n
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// TestCall: the pod gets exactly the request of the annotation, at its own address, with the token and nothing else of ours.
func TestCall(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	requests := make(chan *http.Request, 2)
	c, n := callerTo(serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests <- r
		_, _ = io.WriteString(w, "reloaded")
	}))
	answer, err := c.Call(t.Context(), podAt(podAddress), "POST", "web", "/-/reload?now=1&path=%2Fetc", "t0ken")
	if err != nil || string(answer) != "reloaded" {
		t.Fatalf("%q, %v", answer, err)
	}
	r := <-requests
	got := []string{r.Method, r.RequestURI, r.Host, r.Header.Get("Authorization"), r.Header.Get("User-Agent"), r.Header.Get("Content-Length")}
	if want := []string{"POST", "/-/reload?now=1&path=%2Fetc", podAddress + ":8080", "Bearer t0ken", "reroll/v1.2.3", "0"}; !slices.Equal(got, want) {
		t.Errorf("the pod got %q, want %q", got, want)
	}
	if _, err := c.Call(t.Context(), podAt("fd00::7"), "GET", "9090", "/metrics", ""); err != nil {
		t.Fatal(err)
	}
	if r := <-requests; r.Header.Get("Authorization") != "" || r.Header.Get("Accept-Encoding") != "" {
		t.Errorf("the pod got the header %v", r.Header)
	}
	if want := []string{podAddress + ":8080", "[fd00::7]:9090"}; !slices.Equal(n.dialed, want) {
		t.Errorf("connections to %q, want %q", n.dialed, want)
	}
}

// TestNotCalled: what is not the pod's own, declared and harmless gets no connection, and no later try will.
func TestNotCalled(t *testing.T) {
	c, n := callerTo(serve(t, func(http.ResponseWriter, *http.Request) {}))
	type call struct{ address, method, port, path, token string }
	cases := map[string]call{
		"method": {method: "DELETE"}, "no port": {port: "0"}, "undeclared port": {port: "6443"}, "unnamed port": {port: "-"}, "unknown port": {port: "admin"},
		"port as an expression": {port: "+8080"}, "long path": {path: "/" + strings.Repeat("a", 1024)}, "token of two lines": {token: "a\r\nX-Admin: yes"},
	}
	for _, address := range []string{
		"127.0.0.1", "::1", "0.0.0.0", "::", "169.254.169.254", "fe80::1", "fe80::1%eth0", "224.0.0.1", "ff02::1", "255.255.255.255", "::ffff:127.0.0.1",
		"::ffff:169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.168.0.4", "::ffff:192.168.0.4", "fd01::4", "fd01:0::4", "10.96.0.1", "localhost", "10.1.2.3:80", "10.1.2", "0x7f.1",
	} {
		cases["address "+address] = call{address: address}
	}
	for _, path := range []string{
		"-", "//evil.example/x", "/../secrets", "/a/%2e%2e/b", "/a b", "/a\r\nX-Admin: yes", "/a\\b", "/a#b", "http://evil.example/", "@evil.example/", "/é", "/a%", "/a\x00", "/<a>",
	} {
		cases["path "+path] = call{path: path}
	}
	or := func(text, usual string) string {
		switch text {
		case "":
			return usual
		case "-":
			return ""
		}
		return text
	}
	for name, x := range cases {
		_, err := c.Call(t.Context(), podAt(or(x.address, podAddress)), or(x.method, "POST"), or(x.port, "web"), or(x.path, "/-/reload"), x.token)
		if refused, ok := errors.AsType[*Error](err); !ok || !refused.Refused() {
			t.Errorf("%s: error %v, want a refusal", name, err)
		}
	}
	host := podAt(podAddress)
	host.HostNetwork = true
	if _, err := c.Call(t.Context(), host, "POST", "web", "/", ""); err == nil {
		t.Error("a pod with the network of its node is called")
	}
	if _, err := c.Call(t.Context(), podAt(""), "POST", "web", "/", ""); err == nil {
		t.Error("a pod without address is called")
	} else if waits, _ := errors.AsType[*Error](err); waits.Refused() {
		t.Errorf("a pod that has no address yet is refused for good: %v", err)
	}
	lost := errors.New("leadership lost")
	c.options.Denied = func(context.Context) ([]netip.Addr, error) { return nil, lost }
	if _, err := c.Call(t.Context(), podAt(podAddress), "POST", "web", "/", ""); !errors.Is(err, lost) {
		t.Errorf("error %v, want that of the fence", err)
	}
	if len(n.dialed) > 0 {
		t.Errorf("connections to %q", n.dialed)
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
	raw := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, text)
				_ = conn.Close()
			}
		}
	}
	for name, test := range map[string]struct {
		handle  http.HandlerFunc
		says    string
		refused bool
	}{
		"no content":        {status(204), "", false},
		"redirect":          {status(307), "status 307", true},
		"unauthorized":      {status(401), "status 401", true},
		"not found":         {status(404), "status 404", true},
		"too many requests": {status(429), "status 429", false},
		"invalid content":   {status(500), "status 500", false},
		"endless body":      {endless, "", false},
		"silent":            {silent, "in time", false},
		"slow body": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, secret)
			_ = http.NewResponseController(w).Flush()
			silent(w, r)
		}, "in time", false},
		"no HTTP":      {raw(secret + "\r\n\r\n"), "no HTTP answer", false},
		"reset":        {raw(""), "no HTTP answer", false},
		"long header":  {raw("HTTP/1.1 200 OK\r\nA: " + strings.Repeat(secret, 20000) + "\r\n\r\n"), "no HTTP answer", false},
		"half a body":  {raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + secret), "no HTTP answer", false},
		"upgrade":      {raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" + secret), "status 101", false},
		"gzip as told": {raw("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 7\r\n\r\n" + secret), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			c, n := callerTo(serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				test.handle(w, r)
			}))
			c.callTime = time.Second
			answer, err := c.Call(t.Context(), podAt(podAddress), "POST", "web", "/-/reload", "")
			if len(answer) > maxAnswerBytes || asked.Load() != 1 || len(n.dialed) != 1 {
				t.Errorf("%d bytes of answers to %d requests through %d connections", len(answer), asked.Load(), len(n.dialed))
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

// TestNoPlainHTTP: servers that want TLS, a client certificate as a service mesh does, or that are not there, are errors of one line.
func TestNoPlainHTTP(t *testing.T) {
	secure := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(secure.Close)
	mesh, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mesh.Close() })
	go func() {
		for {
			conn, err := mesh.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "\x15\x03\x01\x00\x02\x02\x0a") // a TLS alert: unexpected message
			_ = conn.Close()
		}
	}()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	for says, address := range map[string]string{
		"status 400": secure.Listener.Addr().String(), "mTLS": mesh.Addr().String(), "connection refused": closed.Addr().String(),
	} {
		c, _ := callerTo(address)
		_, err := c.Call(t.Context(), podAt(podAddress), "POST", "web", "/-/reload", "")
		if err == nil || !strings.Contains(err.Error(), says) || strings.ContainsAny(err.Error(), "\n\x15") {
			t.Errorf("error %v, want one that says %s", err, says)
		}
	}
}
