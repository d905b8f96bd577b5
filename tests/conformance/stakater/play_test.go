package stakater_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/reroll-dev/reroll/tests/conformance/stakater"
	"github.com/reroll-dev/reroll/tests/scenario"
	"github.com/reroll-dev/reroll/tests/world"
)

// oneEdit is a scenario in which the edit of a ConfigMap reloads a Deployment.
const oneEdit = `
reason: an edit reloads
given:
- {kind: ConfigMap, metadata: {name: app}, data: {a: "1"}}
- kind: Deployment
  metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}
  spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}}}
steps:
- do: [{patch: ConfigMap/app, with: {data: {a: "2"}}}]
  expect: {Deployment/web: 1}
`

// withFlags starts a process with flags and an environment.
func withFlags(t *testing.T, env []string, flags ...string) *process {
	t.Helper()
	return newProcess(t, []stakater.Case{{Flags: flags, Env: env}})
}

// play runs a scenario that is written in a test, and returns its world.
func (p *process) play(t *testing.T, text string) *world.World {
	t.Helper()
	s, err := scenario.Parse(t.Name(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	w := world.New(t, shared, world.Options{Restart: p.start})
	scenario.Run(t.Context(), t, s, w)
	return w
}

// receiver is an HTTP server that keeps what it is sent.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	// failures is how many requests about failing are still answered with an error.
	failing  string
	failures int
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(request.Body, 1<<20))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies = append(r.bodies, string(body))
	if r.failures > 0 && strings.Contains(string(body), r.failing) {
		r.failures--
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// about returns the bodies that contain a text.
func (r *receiver) about(text string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []string
	for _, body := range r.bodies {
		if strings.Contains(body, text) {
			found = append(found, body)
		}
	}
	return found
}
