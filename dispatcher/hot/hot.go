// Package hot asks pods over HTTP to reload their configuration.
//
// It trusts neither the annotation that says what to ask nor the status of the pod that says where: it calls a declared port of the pod's own
// address, follows no redirect, uses no proxy, and bounds time, answer and the number of calls. Nothing of an answer is in an error.
package hot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

const (
	// callTime bounds a call from the first packet to the last byte of the answer.
	callTime       = 5 * time.Second
	maxAnswerBytes = 1 << 20
	maxHeaderBytes = 64 << 10
)

// Caller calls pods. Make it with New. It is safe for concurrent use.
type Caller struct {
	// agent is how the User-Agent begins: version and process.
	agent    string
	denied   func(context.Context) ([]netip.Addr, error)
	dial     func(ctx context.Context, network, address string) (net.Conn, error)
	callTime time.Duration
}

// New returns a Caller of that version of Reroll. Denied returns the addresses of the API servers, or an error if no pod may be called any more. It is
// asked before each call.
func New(version string, denied func(context.Context) ([]netip.Addr, error)) *Caller {
	host, _ := os.Hostname()
	agent := fmt.Sprintf("reroll/%s (%s/%d ", version, host, os.Getpid())
	return &Caller{agent: agent, denied: denied, dial: (&net.Dialer{Timeout: callTime}).DialContext, callTime: callTime}
}

// Call sends a request without a body to pod, with the credentials in the data of a Secret unless that is nil. The User-Agent
// has this process and the value of pod.Refreshed. It succeeds if the pod answers with 2xx within 5 seconds, and returns the
// first MiB of the answer. What the pod has to do with an error is an *Error; after another one, nothing was sent.
func (c *Caller) Call(ctx context.Context, pod workload.RunningPod, r dialect.Request, secret map[string][]byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.callTime)
	defer cancel()
	denied, err := c.denied(ctx)
	if err != nil {
		return nil, err
	}
	at, err := target(pod, r.Port, denied)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, "http://"+at+r.Path, http.NoBody)
	if err != nil {
		return nil, refusal("no request can be made of the path")
	}
	req.Header.Set("User-Agent", c.agent+pod.Refreshed+")")
	secure, err := dress(req, secret)
	if err != nil {
		return nil, err
	}
	// It follows no redirect. An address may be that of another pod a moment later, so no connection is used twice.
	once := &http.Transport{
		DialContext: c.dial, TLSClientConfig: secure, TLSHandshakeTimeout: callTime,
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeaderBytes,
	}
	got, err := once.RoundTrip(req)
	if err != nil {
		return nil, unanswered(ctx, err)
	}
	defer got.Body.Close()
	if code := got.StatusCode; code < 200 || code > 299 {
		why := strings.TrimSpace(fmt.Sprintf("answered with status %d %s", code, http.StatusText(code)))
		later := slices.Contains([]int{http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests}, code)
		return nil, &Error{why, code >= 300 && code < 500 && !later}
	}
	answer, err := io.ReadAll(io.LimitReader(got.Body, maxAnswerBytes))
	if err != nil {
		return nil, unanswered(ctx, err)
	}
	return answer, nil
}

// Error is why a pod was not asked, or did not answer with success. It has nothing of an answer but the status.
type Error struct {
	why     string
	refused bool
}

// Error says why.
func (e *Error) Error() string { return e.why }

// Refused reports whether the same call fails until something is changed.
func (e *Error) Refused() bool { return e.refused }

func refusal(why string) error { return &Error{why, true} }

// unanswered returns an error about a request without a whole answer. That of net/http may quote the pod.
func unanswered(ctx context.Context, err error) error {
	var ours *Error
	var code syscall.Errno
	var remote *net.OpError
	switch {
	case errors.As(err, &ours):
		return ours
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		return &Error{"no whole answer in time", false}
	case errors.As(err, &code):
		return &Error{"no answer: " + code.Error(), false}
	case errors.As(err, &remote) && remote.Op == "remote error": // an alert, in the words of this side
		return refusal("no answer: " + remote.Err.Error())
	}
	return &Error{"no HTTP answer: the port, or its service mesh, may require TLS with a client certificate, or not speak TLS", false}
}

// metadata are addresses at which clouds serve credentials of nodes, besides link-local ones.
var metadata = []netip.Addr{netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("168.63.129.16")}

// target returns the address and port of a request to pod, or why there must be none. Denied are addresses besides those that no pod can have.
func target(pod workload.RunningPod, port string, denied []netip.Addr) (string, error) {
	address, err := netip.ParseAddr(pod.Address)
	address = address.Unmap()
	switch {
	case pod.HostNetwork:
		return "", refusal("the pod has the network of its node")
	case pod.Address == "":
		return "", &Error{"the pod has no address yet", false}
	case err != nil, address.Zone() != "", !address.IsGlobalUnicast(), slices.Contains(metadata, address):
		return "", refusal("the address in the pod's status cannot be that of a pod")
	case slices.Contains(denied, address):
		return "", refusal("the address in the pod's status is that of an API server")
	case slices.Contains(pod.NodeAddresses, address):
		return "", refusal("the address in the pod's status is that of its node")
	}
	for _, p := range pod.Ports {
		if number := strconv.Itoa(int(p.ContainerPort)); port == p.Name || port == number {
			return net.JoinHostPort(address.String(), number), nil
		}
	}
	return "", refusal("no container of the pod declares this TCP port")
}
