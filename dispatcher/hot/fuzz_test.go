package hot

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// FuzzTarget: whatever annotation and status say, a request goes to the address of the status as a pod can have it, to a declared port, and asks
// for exactly the path of the annotation.
func FuzzTarget(f *testing.F) {
	f.Add("10.1.2.3", "web", "/-/reload?x=%2F")
	f.Add("::ffff:127.0.0.1", "9090", "//evil/../a")
	f.Add("fe80::1%eth0", "+8080", "/a\r\nHost: b")
	f.Add("2001:db8::1", "08080", "/%2e%2e/%0d%0a")
	f.Fuzz(func(t *testing.T, address, port, path string) {
		u, err := target(podAt(address), "POST", port, path, []netip.Addr{netip.MustParseAddr("10.96.0.1")})
		if err != nil {
			if len(err.Error()) > 200 {
				t.Errorf("a long error: %v", err)
			}
			return
		}
		at, err := netip.ParseAddrPort(u.Host)
		if err != nil || !at.Addr().IsGlobalUnicast() || at.Addr().Is4In6() || at.Port() != 8080 && at.Port() != 9090 {
			t.Errorf("address %q, port %q: %s, %v", address, port, u.Host, err)
		}
		if claimed, err := netip.ParseAddr(address); err != nil || claimed.Unmap() != at.Addr() {
			t.Errorf("the address is %s, want %q: %v", at.Addr(), address, err)
		}
		if u.RequestURI() != path || strings.ContainsAny(path, "\r\n \\#") || u.User != nil || u.Scheme != "http" {
			t.Errorf("path %q: %s", path, u)
		}
	})
}

// FuzzAnswer: whatever a pod sends, the call ends, and an error has nothing of it.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nok"))
	f.Add([]byte("HTTP/1.1 301 Moved\r\nLocation: http://localhost/\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/9.9 -1 x\r\n\r\n"))
	f.Add([]byte("\x15\x03\x01\x00\x02\x02\x0a"))
	words := []string{"call pod shop/web-a: answered with status ", "call pod shop/web-a: no whole answer in time", "call pod shop/web-a: no HTTP answer: "}
	f.Fuzz(func(t *testing.T, sent []byte) {
		c, _ := callerTo("")
		c.callTime = 200 * time.Millisecond
		c.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close() //nolint:errcheck // both ends are done with it
				if _, err := theirs.Read(make([]byte, 4096)); err == nil {
					_, _ = theirs.Write(sent)
				}
			}()
			return ours, nil
		}
		answer, err := c.Call(t.Context(), podAt(podAddress), "GET", "web", "/", "")
		if err == nil {
			if len(answer) > len(sent) {
				t.Errorf("%d bytes of %d", len(answer), len(sent))
			}
			return
		}
		own := false
		for _, word := range words {
			own = own || strings.HasPrefix(err.Error(), word)
		}
		if asked, ok := errors.AsType[*Error](err); !ok || !own || asked.Status > 999 || len(err.Error()) > 150 {
			t.Errorf("error %v", err)
		}
	})
}
