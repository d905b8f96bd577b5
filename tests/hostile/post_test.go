package hostile

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
)

func (x *target) dial() (net.Conn, error) { return tls.Dial("tcp", x.address, x.tls) }

// post sends a body over a connection of its own and returns the status: 0 if the server has closed the connection before the whole
// body was sent, so that its answer was lost on the way.
func (x *target) post(path, body string) int {
	conn, err := x.dial()
	if err != nil {
		return 0
	}
	defer conn.Close()                     //nolint:errcheck // the answer is there, or is not
	_ = begin(conn, path, body, len(body)) // there may be an answer all the same
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	defer res.Body.Close() //nolint:errcheck // it was only read
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// begin sends the head of a request and the first n bytes of its body.
func begin(conn net.Conn, path, body string, n int) error {
	_, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", path, len(body))
	if err != nil {
		return err
	}
	_, err = io.WriteString(conn, body[:n])
	return err
}

// flood has all posters post a body at once, and returns how many were answered with each status.
func (x *target) flood(path, body string) map[int]int {
	var mu sync.Mutex
	codes := map[int]int{}
	var all sync.WaitGroup
	for range posters {
		all.Go(func() {
			code := x.post(path, body)
			mu.Lock()
			defer mu.Unlock()
			codes[code]++
		})
	}
	all.Wait()
	return codes
}
