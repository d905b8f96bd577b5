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
	"strings"
	"syscall"
	"time"

	"github.com/reroll-dev/reroll/reloader/workload"
)

const (
	// callTime bounds a call from the first packet to the last byte of the answer.
	callTime       = 5 * time.Second
	maxAnswerBytes = 1 << 20
	maxHeaderBytes = 64 << 10
)

// Options configure a Caller.
type Options struct {
	// Version is Reroll's.
	Version string
	// Denied returns the addresses of the API servers, or an error if no pod may be called any more. It is asked before each call. Nil: there are none.
	Denied func(context.Context) ([]netip.Addr, error)
	// Gate bounds the calls, together with whatever else uses it. Nil: a gate of its own.
	Gate *Gate
}

// Caller calls pods. Make it with New. It is safe for concurrent use.
type Caller struct {
	options   Options
	transport *http.Transport
	// callTime bounds a call.
	callTime time.Duration
}

// New returns a Caller.
func New(o Options) *Caller {
	if o.Gate == nil {
		o.Gate = &Gate{}
	}
	return &Caller{options: o, callTime: callTime, transport: &http.Transport{
		// An address may be that of another pod a moment later: no connection is used twice.
		DialContext: (&net.Dialer{}).DialContext, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeaderBytes,
	}}
}

// Call sends one request without a body to pod, and a token if there is one. Port is the name or number of a declared port, path has the query.
// It succeeds if the pod answers with 2xx within 5 seconds, and returns the first MiB of the answer. What the pod has to do with an error is an
// *Error; after another one, nothing was sent.
func (c *Caller) Call(ctx context.Context, pod workload.RunningPod, method, port, path, token string) (answer []byte, err error) {
	err = c.options.Gate.Do(ctx, pod, func(ctx context.Context) error {
		answer, err = c.call(ctx, pod, method, port, path, token)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("call pod %s/%s: %w", pod.Workload.Namespace, pod.Name, err)
	}
	return answer, nil
}

func (c *Caller) call(ctx context.Context, pod workload.RunningPod, method, port, path, token string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.callTime)
	defer cancel()
	var denied []netip.Addr
	if c.options.Denied != nil {
		var err error
		if denied, err = c.options.Denied(ctx); err != nil {
			return nil, err
		}
	}
	u, err := target(pod, method, port, path, denied)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), http.NoBody)
	if err != nil {
		return nil, refusal("no request can be made of the path")
	}
	req.Header.Set("User-Agent", "reroll/"+c.options.Version)
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, refusal("the token is not one word of printable characters")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	// The transport follows no redirect.
	got, err := c.transport.RoundTrip(req)
	if err != nil {
		return nil, unanswered(ctx, err)
	}
	defer got.Body.Close()
	if got.StatusCode < 200 || got.StatusCode > 299 {
		return nil, &Error{Status: got.StatusCode}
	}
	answer, err := io.ReadAll(io.LimitReader(got.Body, maxAnswerBytes))
	if err != nil {
		return nil, unanswered(ctx, err)
	}
	return answer, nil
}

// Error is why a pod was not asked, or did not answer with success.
type Error struct {
	// Status is that of the answer; 0 if there was none.
	Status int
	// why is set if there was none.
	why string
	// never says that the request is not sent as long as pod and annotation are what they are.
	never bool
}

func refusal(why string) error { return &Error{why: why, never: true} }

// Error names the status and nothing else of the answer.
func (e *Error) Error() string {
	if e.why != "" {
		return e.why
	}
	return strings.TrimSpace(fmt.Sprintf("answered with status %d %s", e.Status, http.StatusText(e.Status)))
}

// Refused reports whether the same call fails until something is changed: a redirect, and 4xx without the three that ask for patience.
func (e *Error) Refused() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return e.never || e.Status >= 300 && e.Status < 500
}

// unanswered returns an error about a request without a whole answer. That of net/http may quote the pod.
func unanswered(ctx context.Context, err error) error {
	var code syscall.Errno
	switch {
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded):
		return &Error{why: "no whole answer in time"}
	case errors.As(err, &code):
		return &Error{why: "no answer: " + code.Error()}
	}
	return &Error{why: "no HTTP answer: the port may require TLS, or a service mesh refuse connections without mTLS"}
}
