// Package port chooses the addresses of programs that tests start. A client knows the address before the program listens, and a
// restarted program keeps it.
package port

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"
)

// Ports are taken from below those that Linux gives to connections by itself (net.ipv4.ip_local_port_range, 32768 and above unless
// told otherwise) and those of Kubernetes' Services of type NodePort (30000 to 32767): a port of theirs can be in use at any moment,
// also while the program that it was meant for is still starting. tries is how many are looked at for each that is wanted.
const first, last, tries = 15000, 29999, 1000

// signs are those of the ports that this process has been given.
var (
	mu    sync.Mutex
	signs []net.PacketConn
)

// Free returns n free TCP ports of 127.0.0.1. While this process lives, this package gives them to no other process.
func Free(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		var err error
		if ports[i], err = reserve(); err != nil {
			return nil, err
		}
	}
	return ports, nil
}

// Addresses returns n addresses as Free returns ports, each as 127.0.0.1:PORT.
func Addresses(n int) ([]string, error) {
	ports, err := Free(n)
	if err != nil {
		return nil, err
	}
	addresses := make([]string, n)
	for i, p := range ports {
		addresses[i] = address(p)
	}
	return addresses, nil
}

// reserve finds a port. The UDP port of the same number is kept until the process ends: it is the sign for other processes.
func reserve() (int, error) {
	for range tries {
		port := first + rand.IntN(last-first+1)
		sign, err := net.ListenPacket("udp4", address(port))
		if err != nil {
			continue
		}
		listener, err := net.Listen("tcp4", address(port))
		if err != nil {
			_ = sign.Close() // nothing was sent
			continue
		}
		mu.Lock()
		signs = append(signs, sign)
		mu.Unlock()
		return port, listener.Close()
	}
	return 0, fmt.Errorf("no free port found between %d and %d in %d tries", first, last, tries)
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

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
			switch {
			case errors.Is(err, net.ErrClosed):
				return
			case err != nil:
				time.Sleep(acceptPause)
			default:
				l.carrying.Go(func() { l.carry(near, target) })
			}
		}
	})
	return listener.Addr().String(), nil
}

// acceptPause is the pause after no connection could be taken, as when the process has too many open files.
const acceptPause = 10 * time.Millisecond

// carry carries one connection until one of its ends is closed.
func (l *Link) carry(near net.Conn, target string) {
	defer l.drop(near)
	if l.isCut() {
		return
	}
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

func (l *Link) isCut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut
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
