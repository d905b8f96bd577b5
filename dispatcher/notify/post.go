package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The limits of a request.
const (
	// requestTime bounds everything from the first packet to the last byte of the answer.
	requestTime    = 10 * time.Second
	maxAnswerBytes = 64 << 10
	maxHeaderBytes = 64 << 10
	idleTime       = 30 * time.Second
	maxIdle        = 8
)

// Schemes are those of the URLs that are posted to, and ProxySchemes those of the proxies in between. Whatever checks a setting before
// it comes here asks them.
var (
	Schemes      = []string{"http", "https"}
	ProxySchemes = []string{"http", "https", "socks5", "socks5h"}
)

// StatusError is an answer whose status is not a success.
type StatusError struct {
	// Status is the HTTP status of the answer.
	Status int
	// retryAfter is the header of that name.
	retryAfter string
}

// Error names the status and nothing else of the answer.
func (e *StatusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("answered with status %d %s", e.Status, http.StatusText(e.Status)))
}

// Refused reports whether the same request fails until something is changed: 4xx, without the three
// that ask for patience.
func (e *StatusError) Refused() bool {
	return e.Status >= 400 && e.Status < 500 && !patience(e.Status)
}

// transient reports whether the same request may succeed in a moment.
func (e *StatusError) transient() bool { return e.Status >= 500 || patience(e.Status) }

// pause returns how many seconds the answer asks to wait, up to longestPause; usual if it does not.
func (e *StatusError) pause(usual time.Duration) time.Duration {
	seconds, err := strconv.ParseUint(e.retryAfter, 10, 31)
	if err != nil {
		return usual
	}
	return min(time.Duration(seconds)*time.Second, longestPause)
}

func patience(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooEarly || status == http.StatusTooManyRequests
}

// endpoint is where requests are posted to.
type endpoint struct {
	// transport follows no redirect: what we post is meant for the address that was configured.
	transport http.RoundTripper
	url       *url.URL
	userAgent string
}

// newEndpoint checks the addresses. An empty proxy means a direct connection, whatever the environment says: so does the tool whose
// settings these are. Errors do not repeat the addresses.
func newEndpoint(address, proxy, version string) (endpoint, error) {
	u, ok := parse(address, Schemes)
	if !ok {
		return endpoint{}, fmt.Errorf("not an absolute URL of scheme %s", strings.Join(Schemes, " or "))
	}
	transport := &http.Transport{
		ForceAttemptHTTP2: true, MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: idleTime, MaxResponseHeaderBytes: maxHeaderBytes,
	}
	if strings.TrimSpace(proxy) != "" {
		p, ok := parse(proxy, ProxySchemes)
		if !ok {
			return endpoint{}, fmt.Errorf("proxy is not an absolute URL of scheme %s", strings.Join(ProxySchemes, " or "))
		}
		transport.Proxy = http.ProxyURL(p)
	}
	return endpoint{transport: transport, url: u, userAgent: "reroll/" + version}, nil
}

func parse(address string, schemes []string) (*url.URL, bool) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Hostname() == "" || !slices.Contains(schemes, u.Scheme) {
		return nil, false
	}
	return u, true
}

// message is what is posted.
type message struct {
	contentType string
	body        []byte
}

// post sends m once. A status that accepts does not take is a *StatusError. An error names the endpoint's host, never its path,
// query or credentials, and repeats nothing that the other side wrote.
func (e endpoint) post(ctx context.Context, m message, header http.Header, accepts func(status int) bool) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	req, err := e.request(ctx, m, header)
	if err != nil {
		return fmt.Errorf("post to %s: %w", e.url.Host, err)
	}
	answer, err := e.transport.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("post to %s: %w", e.url.Host, err)
	}
	defer answer.Body.Close()
	// Nothing in the body matters; it is read so that the connection can be used again.
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswerBytes))
	if !accepts(answer.StatusCode) {
		return fmt.Errorf("post to %s: %w", e.url.Host, &StatusError{answer.StatusCode, answer.Header.Get("Retry-After")})
	}
	return nil
}

func (e endpoint) request(ctx context.Context, m message, header http.Header) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url.String(), bytes.NewReader(m.body))
	if err != nil {
		return nil, errors.New("no request can be made of the address") // err would repeat it
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Content-Type", m.contentType)
	req.Header.Set("User-Agent", e.userAgent)
	if user := e.url.User; user != nil {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	return req, nil
}
