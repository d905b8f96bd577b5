package port

import (
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
)

// TestEachIsGivenOnce: what was given once is given to nobody else, also while nobody listens on it yet, and can be listened on.
func TestEachIsGivenOnce(t *testing.T) {
	given := map[string]bool{}
	for range 20 {
		addresses, err := Addresses(25)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range addresses {
			if given[a] {
				t.Errorf("%s was given twice", a)
			}
			given[a] = true
		}
	}
	for a := range given {
		listener, err := net.Listen("tcp", a)
		if err != nil {
			t.Fatal(err)
		}
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestGivenIsKept: what is given stays so, however long nobody uses it.
func TestGivenIsKept(t *testing.T) {
	few := span{first: 14990, last: 14999}
	t.Cleanup(func() {
		for _, sign := range few.signs {
			_ = sign.Close() // nothing was sent
		}
	})
	for range few.last - few.first + 1 {
		_, _ = few.reserve() // one that another process has is none
	}
	for range 3 {
		runtime.GC()
	}
	if port, err := few.reserve(); !errors.Is(err, errNone) {
		t.Errorf("port %d was given, where none is left: %v", port, err)
	}
}

// TestOthersAreToldApart: a port that another process was given, or listens on, is not given.
func TestOthersAreToldApart(t *testing.T) {
	for name, take := range map[string]func(address string) (io.Closer, error){
		"given":       func(a string) (io.Closer, error) { return net.ListenPacket("udp4", a) },
		"listened on": func(a string) (io.Closer, error) { return net.Listen("tcp4", a) },
	} {
		t.Run(name, func(t *testing.T) {
			one := span{first: 14989, last: 14989}
			if taken, err := take(address(one.first)); err == nil { // otherwise another process has it
				defer taken.Close() //nolint:errcheck // nobody came
			}
			if port, err := one.reserve(); !errors.Is(err, errNone) {
				t.Errorf("port %d was given, which is taken: %v", port, err)
			}
		})
	}
}
