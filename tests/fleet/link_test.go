package fleet

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// link is a network between a cluster and the hub that can be cut.
type link struct {
	urls []string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]struct{}
}

// newLink listens on an address of its own for each of the given ones.
func newLink(t *testing.T, to []string) *link {
	t.Helper()
	l := &link{conns: map[net.Conn]struct{}{}}
	for _, target := range to {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		l.urls = append(l.urls, "nats://"+listener.Addr().String())
		go l.accept(listener, target)
	}
	return l
}

func (l *link) url() string { return strings.Join(l.urls, ",") }

func (l *link) accept(listener net.Listener, target string) {
	for {
		in, err := listener.Accept()
		if err != nil {
			return
		}
		go l.carry(in, target)
	}
}

func (l *link) carry(in net.Conn, target string) {
	defer in.Close() //nolint:errcheck // it is over either way
	out, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer out.Close() //nolint:errcheck // it is over either way
	if !l.enter(in, out) {
		return
	}
	defer l.leave(in, out)
	go func() {
		_, _ = io.Copy(out, in)
		_ = out.Close()
	}()
	_, _ = io.Copy(in, out)
}

func (l *link) enter(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return false
	}
	for _, c := range conns {
		l.conns[c] = struct{}{}
	}
	return true
}

func (l *link) leave(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		delete(l.conns, c)
	}
}

// set cuts the link, or mends it.
func (l *link) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	for c := range l.conns {
		if cut {
			_ = c.Close()
		}
	}
}
