package roll

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/tests/line"
)

// proxy stands between a process and the API server. Once it is told to, it lets a number of requests pass and fails all others: for
// the API server, the process has died.
type proxy struct {
	Kubeconfig string

	mu sync.Mutex
	// left is how many requests pass; negative: all.
	left int
	// lose says that the first request that fails still reaches the API server, and only its answer is lost.
	lose bool
	seen []string
	// die ends what the process does, which would continue trying to be heard.
	die context.CancelFunc
	// held gets the next request that deletes a Job; nil if that passes.
	held    chan *http.Request
	forward http.Handler
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	p := &proxy{left: -1}
	p.Kubeconfig = between(t, cluster.RESTConfig(), func(forward *httputil.ReverseProxy) http.Handler {
		p.forward = forward
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			passes, reaches := p.take(r)
			switch {
			case p.holds(r):
			case passes:
				forward.ServeHTTP(w, r)
				return
			case reaches:
				forward.ServeHTTP(httptest.NewRecorder(), r)
			}
			p.die()
			panic(http.ErrAbortHandler) // cuts the connection
		})
	})
	return p
}

// take counts a request and says whether it passes, and if not, whether it reaches the API server all the same.
func (p *proxy) take(r *http.Request) (passes, reaches bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left < 0 {
		return true, true
	}
	if p.left == 0 {
		reaches, p.lose = p.lose, false
		return false, reaches
	}
	p.left--
	p.seen = append(p.seen, r.Method)
	return true, true
}

// dieAfter lets that many requests pass from now on. If lose is set, the one after them passes too, but its answer does not. The
// context ends with the first request that does not pass.
func (p *proxy) dieAfter(t *testing.T, requests int, lose bool) context.Context {
	ctx, die := context.WithCancel(t.Context())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.lose, p.seen, p.die = requests, lose, nil, die
	return ctx
}

// dieWhileDeleting lets all requests pass until the first one that deletes a Job. That one is held until carryOut is called, which returns when
// the API server has answered it; nobody waits for the answer any more.
func (p *proxy) dieWhileDeleting(t *testing.T) (ctx context.Context, carryOut func()) {
	ctx = p.dieAfter(t, 1000, false)
	p.mu.Lock()
	defer p.mu.Unlock()
	held := make(chan *http.Request, 1)
	p.held = held
	return ctx, func() {
		p.forward.ServeHTTP(httptest.NewRecorder(), <-held)
	}
}

// holds keeps a request that deletes a Job, if it must be held.
func (p *proxy) holds(r *http.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil || r.Method != http.MethodDelete || !strings.Contains(r.URL.Path, "/jobs/") {
		return false
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	late := r.Clone(context.WithoutCancel(r.Context()))
	late.Body = io.NopCloser(bytes.NewReader(body))
	p.held <- late
	p.held = nil
	return true
}

// live lets all requests pass again.
func (p *proxy) live() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = -1
}

// between lets a test stand between a process and the API server, which takes the process for the user of config. It returns the kubeconfig for the
// process. Requests go through what handler makes of the way to the API server.
func between(t testing.TB, config *rest.Config, handler func(forward *httputil.ReverseProxy) http.Handler) (kubeconfigFile string) {
	t.Helper()
	target, err := url.Parse(config.Host)
	line.Must(t, err)
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.Transport, err = rest.TransportFor(config)
	line.Must(t, err)
	forward.ErrorLog = log.New(io.Discard, "", 0) // watches end in the middle
	server := httptest.NewServer(handler(forward))
	t.Cleanup(func() {
		server.CloseClientConnections() // watches would continue
		server.Close()
	})
	file := filepath.Join(t.TempDir(), "kubeconfig")
	line.Must(t, os.WriteFile(file, fmt.Appendf(nil, "{current-context: p, contexts: [{name: p, context: {cluster: p}}], clusters: [{name: p, cluster: {server: %q}}]}", server.URL), 0o600))
	return file
}
