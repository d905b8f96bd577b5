package main

import (
	"fmt"
	"io"
	"net"
	"sync"
)

// link is the network between Reroll and NATS: it carries connections to an address until it is cut, and again once it is mended.
type link struct {
	listener net.Listener
	target   string

	mu sync.Mutex
	// down says that the link is cut; open are the connections that it carries, both ends of each.
	down bool
	open map[net.Conn]struct{}
	cuts int64

	carrying sync.WaitGroup
}

// startLink carries what comes to address to target, both as host and port.
func startLink(address, target string) (*link, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("the link cannot listen: %w", err)
	}
	l := &link{listener: listener, target: target, open: map[net.Conn]struct{}{}}
	l.carrying.Go(l.accept)
	return l, nil
}

func (l *link) accept() {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return // it is closed
		}
		l.carrying.Go(func() { l.carry(near) })
	}
}

// carry carries one connection until one of its ends is closed.
func (l *link) carry(near net.Conn) {
	defer l.drop(near)
	if !l.take(near) {
		return
	}
	far, err := net.Dial("tcp", l.target)
	if err != nil {
		return // nobody is there, which the other end is told by the closed connection
	}
	defer l.drop(far)
	if !l.take(far) {
		return
	}
	var both sync.WaitGroup
	for from, to := range map[net.Conn]net.Conn{near: far, far: near} {
		both.Go(func() {
			_, _ = io.Copy(to, from) // it ends with either connection
			l.drop(near)
			l.drop(far)
		})
	}
	both.Wait()
}

// take notes a connection, unless the link is cut.
func (l *link) take(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return false
	}
	l.open[c] = struct{}{}
	return true
}

func (l *link) drop(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, c)
	_ = c.Close()
}

// cut breaks all connections, and every later one until mend.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	l.cuts++
	for c := range l.open {
		_ = c.Close()
	}
}

func (l *link) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}

// stop ends all of it.
func (l *link) stop() {
	l.cut()
	_ = l.listener.Close()
	l.carrying.Wait()
}
