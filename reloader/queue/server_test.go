package queue

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
)

func TestOlder(t *testing.T) {
	for version, want := range map[string]bool{
		"2.9.25": true, "2.10.0": false, "2.10.29": false, "2.15.2": false, "1.4.1": true, "3.0.0": false, "2.10.0-beta.1": false, "": false, "dev": false,
	} {
		if got := older(version, oldestServer); got != want {
			t.Errorf("%s is too old: %t", version, got)
		}
	}
}

// TestServerThatIsTooOldIsNamed connects to what says that it is a NATS server of long ago.
func TestServerThatIsTooOldIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go pretend(conn, "2.9.10")
		}
	}()
	_, err = Open(testContext(t), Options{URL: "nats://" + l.Addr().String(), Logger: quiet()})
	if !errors.Is(err, ErrOldServer) || !strings.Contains(err.Error(), "2.9.10") || !strings.Contains(err.Error(), oldestServer) {
		t.Errorf("got %v", err)
	}
}

// pretend speaks as much of NATS as a client needs to believe that it is connected.
func pretend(conn net.Conn, version string) {
	defer conn.Close() //nolint:errcheck // it is of no use any more
	_, _ = fmt.Fprintf(conn, `INFO {"server_id":"x","version":%q,"proto":1,"headers":true,"max_payload":1048576}`+"\r\n", version)
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "PING") {
			_, _ = fmt.Fprint(conn, "PONG\r\n")
		}
	}
}
