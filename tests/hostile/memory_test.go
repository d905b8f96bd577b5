package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
)

// posters is how many senders there are at a time: more than are let in.
const posters = 200

const (
	// connections is what that many connections may cost: buffers, TLS, and the goroutines that serve them.
	connections = posters * 256 << 10
	// bodies is what may be spent on the bodies that are let in, which have 48 MB together. Reading takes at most twice their length, and the
	// garbage collector lets the memory that is in use double. It is not computed from the limits of the product: who raises those has to raise
	// this, too.
	bodies = 192 << 20
	// short is the same for 64 bodies that are.
	short = 64 << 20
)

// The limits that the memory follows from: how many bodies are read at once, how many bytes of them, and how long one text may be.
const (
	bodiesAtOnce = 64
	bytesAtOnce  = 48 << 20
	longestText  = 16 << 20
)

const (
	auditPath   = "/v1/audit/prod"
	shippedPath = "/v1/shipped/prod"
)

// event is one that matters.
const event = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","auditID":"a-1","requestURI":"/","verb":"update",` +
	`"user":{"username":"ana"},"objectRef":{"resource":"secrets","namespace":"shop","name":"db","apiVersion":"v1"},` +
	`"responseStatus":{"code":200},"stageTimestamp":"2026-11-21T12:00:00.000000Z"}`

func list(items string) string {
	return `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[` + items + "]}\n"
}

// longText is an event with the longest text that is read.
func longText() string {
	return `{"requestObject":"` + strings.Repeat("x", longestText-100) + `"}`
}

// wrapped puts an event into a line of a log shipper, as the text that it is there.
func wrapped(event string) string {
	text, _ := json.Marshal(event) // text always can be encoded
	return `{"log":` + string(text) + "}\n"
}

func manyWithBodies() string {
	big := strings.TrimSuffix(event, "}") + `,"requestObject":{"data":"` + strings.Repeat("x", 100<<10) + `"}}`
	return list(big + strings.Repeat(","+big, 470))
}

// TestFlood has all posters post at once. Who is too many is told to come again, or is cut off while it still sends, and so is who is too slow.
func TestFlood(t *testing.T) {
	cases := map[string]struct {
		path, body string
		code       int
		bound      int64
		reason     string
	}{
		"empty events": {auditPath, list("{}" + strings.Repeat(",{}", 1<<20-1)), 413, short, "3 MB would be 1 GB as values"},
		"48 MB":        {auditPath, manyWithBodies(), 204, bodies, "a body is held, and what was written is passed over"},
		"long text":    {auditPath, list(event + "," + longText()), 204, bodies, "one text is held as a whole"},
		"text in text": {shippedPath, wrapped(event) + wrapped(longText()[:longestText-400]+`"}`), 204, bodies, "a shipper's line is held, and the event in it"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			x := startIngest(t)
			before, _ := x.memory()
			if code := x.post(c.path, c.body); code != c.code {
				t.Fatalf("one poster alone is answered %d, want %d", code, c.code)
			}
			began := time.Now()
			codes := x.flood(c.path, c.body)
			_, most := x.memory()
			t.Logf("%d posters of %s in %s: answers %v; resident %s before, at most %s", posters, mb(int64(len(c.body))),
				time.Since(began).Round(time.Millisecond), codes, mb(before), mb(most))
			shed := codes[http.StatusServiceUnavailable] + codes[http.StatusRequestTimeout] + codes[0]
			if codes[c.code]+shed != posters { // so many large bodies of shippers at once may leave room for none of them
				t.Errorf("answers %v, want %d or that it is too much", codes, c.code)
			}
			x.checkMemory(before, c.bound, c.reason)
			x.alive()
		})
	}
}

// TestSlowSenders has all posters begin and none end.
func TestSlowSenders(t *testing.T) {
	long := list(event + "," + longText())
	brief := list(event)
	cases := map[string]struct {
		begin func(conn net.Conn) error
		held  int
		bound int64
	}{
		"heads": {func(conn net.Conn) error {
			_, err := io.WriteString(conn, "POST "+auditPath+" HTTP/1.1\r\nHost: x\r\n")
			return err
		}, 0, 0},
		"bodies":      {func(conn net.Conn) error { return begin(conn, auditPath, brief, 100) }, bodiesAtOnce, short},
		"long bodies": {func(conn net.Conn) error { return begin(conn, auditPath, long, len(long)-10) }, bytesAtOnce / len(long), bodies},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			x := startIngest(t)
			before, _ := x.memory()
			conns := x.connect(c.begin)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			x.must(line.Poll(ctx, func(ctx context.Context) error {
				n, err := x.metric(ctx, "reroll_ingest_requests_in_flight")
				if err == nil && int(n) != c.held {
					err = fmt.Errorf("%v bodies are read, want %d", n, c.held)
				}
				return err
			}))
			_, most := x.memory()
			t.Logf("%d bodies held: resident %s before, at most %s", c.held, mb(before), mb(most))
			x.checkMemory(before, c.bound, "who is slow costs no more than who is fast")
			for _, conn := range conns {
				_ = conn.Close() // the other side may have closed it
			}
			x.alive()
		})
	}
}

// checkMemory asserts that the process never held more than it did before, and bound and the connections besides.
func (x *target) checkMemory(before, bound int64, reason string) {
	x.t.Helper()
	if _, most := x.memory(); most > before+bound+connections {
		x.t.Errorf("resident %s before and %s at most, want at most %s: %s", mb(before), mb(most), mb(before+bound+connections), reason)
	}
}

// connect has all posters begin.
func (x *target) connect(begin func(net.Conn) error) []net.Conn {
	var mu sync.Mutex
	var conns []net.Conn
	var all sync.WaitGroup
	for range posters {
		all.Go(func() {
			conn, err := x.dial()
			if err != nil {
				return
			}
			_ = begin(conn) // who is too many is cut off
			mu.Lock()
			defer mu.Unlock()
			conns = append(conns, conn)
		})
	}
	all.Wait()
	return conns
}

// patience bounds the wait for a process that is busy.
const patience = 40 * time.Second

// alive posts a body that must be taken once the flood is over.
func (x *target) alive() {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), patience)
	defer cancel()
	x.must(line.Poll(ctx, func(context.Context) error {
		if code := x.post(auditPath, list(event)); code != http.StatusNoContent {
			return fmt.Errorf("after the flood: answered with %d", code)
		}
		return nil
	}))
}

func mb(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/(1<<20)) }
