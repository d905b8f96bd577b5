package notify

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// TestSOCKSProxy posts through proxies that speak SOCKS5, under both names that their URLs go by, to a host that nobody but the proxy
// could find.
func TestSOCKSProxy(t *testing.T) {
	for _, scheme := range []string{"socks5", "socks5h"} {
		t.Run(scheme, func(t *testing.T) {
			target, requests := receiver(t, answering(http.StatusOK))
			proxy, asked := socks(t, strings.TrimPrefix(target, "http://"))
			d := newDesk(t, AlertOptions{URL: "http://chat.invalid:8080/hook", Sink: "teams", Proxy: scheme + "://" + proxy})
			d.Announce(nil, reload(cause("c-1", prices, 0, sumA, sumB)))
			d.during(t, func() {})
			d.wantResults(t, map[string]float64{alertSent: 1})
			if len(requests) != 1 {
				t.Fatalf("%d requests, want 1", len(requests))
			}
			if got := <-requests; got.Host != "chat.invalid:8080" || got.URI != "/hook" {
				t.Errorf("the receiver was asked for %s at %s", got.URI, got.Host)
			}
			if got := <-asked; got != "chat.invalid:8080" {
				t.Errorf("the proxy was asked for %s", got)
			}
		})
	}
}

// socks is a proxy that connects to target whatever it is asked for, and tells what that was.
func socks(t *testing.T, target string) (address string, asked <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	told, done := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(done)
		if err := serveSOCKS(l, target, told); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Errorf("proxy: %v", err)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String(), told
}

// serveSOCKS serves one connection: RFC 1928, without credentials, to names alone.
func serveSOCKS(l net.Listener, target string, told chan<- string) error {
	client, err := l.Accept()
	if err != nil {
		return err
	}
	defer client.Close()
	hello, request := make([]byte, 3), make([]byte, 5)
	if _, err := io.ReadFull(client, hello); err != nil {
		return err
	}
	if _, err := client.Write([]byte{5, 0}); err != nil {
		return err
	}
	if _, err := io.ReadFull(client, request); err != nil {
		return err
	}
	if request[3] != 3 {
		return errors.New("it is not asked for a name")
	}
	name := make([]byte, int(request[4])+2)
	if _, err := io.ReadFull(client, name); err != nil {
		return err
	}
	host, port := name[:request[4]], int(name[request[4]])<<8|int(name[request[4]+1])
	told <- net.JoinHostPort(string(host), strconv.Itoa(port))
	return join(client, target)
}

// join says yes to client and connects it with target until client has had enough.
func join(client net.Conn, target string) error {
	server, err := net.Dial("tcp", target)
	if err != nil {
		return err
	}
	defer server.Close()
	if _, err := client.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0}); err != nil {
		return err
	}
	back := make(chan struct{})
	go func() {
		defer close(back)
		_, _ = io.Copy(client, server) // ends with either connection
	}()
	_, _ = io.Copy(server, client)
	server.Close()
	<-back
	return nil
}
