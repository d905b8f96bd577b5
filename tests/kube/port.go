package kube

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// port is a TCP port of 127.0.0.1 that stays ours until it is released: a socket is bound to it but never listens, so that the
// kernel gives the port only to sockets with SO_REUSEPORT, and connections to it are refused until our program listens.
type port struct {
	Number int
	socket int
}

// reservePort takes a free port. The program that will listen on it must set SO_REUSEPORT.
func reservePort() (*port, error) {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	unix.CloseOnExec(s)
	number, err := bind(s)
	if err != nil {
		_ = unix.Close(s)
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	return &port{Number: number, socket: s}, nil
}

func bind(socket int) (int, error) {
	if err := unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return 0, err
	}
	if err := unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	name, err := unix.Getsockname(socket)
	if err != nil {
		return 0, err
	}
	address, ok := name.(*unix.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("socket has an address of type %T", name)
	}
	return address.Port, nil
}

func (p *port) release() { _ = unix.Close(p.socket) }

// URL returns the port's address under scheme.
func (p *port) URL(scheme string) string { return fmt.Sprintf("%s://127.0.0.1:%d", scheme, p.Number) }
