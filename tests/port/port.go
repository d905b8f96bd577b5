// Package port chooses the addresses of programs that tests start. A client knows the address before the program listens, and a
// restarted program keeps it.
package port

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Ports are taken from below those that Linux gives to connections by itself (net.ipv4.ip_local_port_range, 32768 and above unless
// told otherwise) and those of Kubernetes' Services of type NodePort (30000 to 32767): a port of theirs can be in use at any moment,
// also while the program that it was meant for is still starting.
var usual = span{first: 15000, last: 29999}

// span is a range of ports, and what of it this process has been given.
type span struct {
	first, last int

	mu    sync.Mutex
	signs []net.PacketConn
}

// tries is how many ports are looked at for each that is wanted.
const tries = 1000

// errNone is about a machine on which next to nothing is free.
var errNone = errors.New("no free port found")

// Free returns n free TCP ports of 127.0.0.1. While this process lives, this package gives them to no other process.
func Free(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		var err error
		if ports[i], err = usual.reserve(); err != nil {
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
func (s *span) reserve() (int, error) {
	for range tries {
		port := s.first + rand.IntN(s.last-s.first+1)
		sign, err := net.ListenPacket("udp4", address(port))
		if err != nil {
			continue
		}
		listener, err := net.Listen("tcp4", address(port))
		if err != nil {
			_ = sign.Close() // nothing was sent
			continue
		}
		s.mu.Lock()
		s.signs = append(s.signs, sign)
		s.mu.Unlock()
		return port, listener.Close()
	}
	return 0, fmt.Errorf("%w between %d and %d in %d tries", errNone, s.first, s.last, tries)
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
