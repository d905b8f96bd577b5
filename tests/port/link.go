package port

import (
	"io"
	"net"
	"sync"
)

// Link is a network that carries connections until it is cut, and again once it is fixed. The zero value carries nothing yet.
type Link struct {
	mu        sync.Mutex
	listeners []net.Listener
	cut       bool
	open      map[net.Conn]struct{}
	carrying  sync.WaitGroup
}

// Carry brings what comes to address to target, both as host and port. It returns where it listens, which matters for port 0.
func (l *Link) Carry(address, target string) (string, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", err
	}
	l.mu.Lock()
	l.listeners = append(l.listeners, listener)
	l.mu.Unlock()
	l.carrying.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return // it is closed
			}
			l.carrying.Go(func() { l.carry(near, target) })
		}
	})
	return listener.Addr().String(), nil
}

// carry carries one connection until one of its ends is closed.
func (l *Link) carry(near net.Conn, target string) {
	defer l.drop(near)
	far, err := net.Dial("tcp", target)
	if err != nil {
		return // nothing listens there; closing the connection reports that to the other end
	}
	defer l.drop(far)
	l.mu.Lock()
	if l.open == nil {
		l.open = map[net.Conn]struct{}{}
	}
	l.open[near], l.open[far] = struct{}{}, struct{}{}
	cut := l.cut
	l.mu.Unlock()
	if cut {
		return
	}
	l.carrying.Go(func() {
		pass(far, near)
		l.drop(far)
	})
	pass(near, far)
}

// pass copies until either connection ends. Connections themselves would be copied through pipes of the kernel, and a thousand members need the files.
func pass(to io.Writer, from io.Reader) {
	_, _ = io.Copy(struct{ io.Writer }{to}, struct{ io.Reader }{from})
}

func (l *Link) drop(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, c)
	_ = c.Close()
}

// Set cuts the link, which breaks all connections and every later one, or fixes it.
func (l *Link) Set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	for c := range l.open {
		if cut {
			_ = c.Close()
		}
	}
}

// Stop ends all of it.
func (l *Link) Stop() {
	l.Set(true)
	for _, listener := range l.listeners {
		_ = listener.Close()
	}
	l.carrying.Wait()
}
