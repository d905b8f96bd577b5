//go:build nightly

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

// outputs is everybody whom Reroll tells something.
type outputs struct {
	alerts, calls *ear
	// hub are the flags with which records are forwarded to a NATS server, and hubDir has its files, which are at rest after endHub.
	hub    []string
	hubDir string
	endHub func()
	// events is what the stream of events said.
	events *ear
	// caller is a second process, which calls a webhook instead of rolling anything.
	caller *line.Reroll
}

// ear keeps whatever it is sent.
type ear struct {
	URL string
	mu  sync.Mutex
	got bytes.Buffer
}

// Write keeps p.
func (e *ear) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.got.Write(p)
}

// ServeHTTP keeps a body, and is content with it.
func (e *ear) ServeHTTP(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(e, r.Body) }

func (e *ear) heard() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	return bytes.Clone(e.got.Bytes())
}

func newEar(t *testing.T) *ear {
	e := &ear{}
	s := httptest.NewServer(e)
	t.Cleanup(s.Close)
	e.URL = s.URL
	return e
}

// listen starts all who can be told before there is a line.
func listen(t *testing.T) *outputs {
	t.Helper()
	o := &outputs{alerts: newEar(t), calls: newEar(t), events: &ear{}, hubDir: t.TempDir()}
	s := natsserver.StartHub(t, []string{line.ClusterName}, func(s *server.Options) { s.StoreDir = o.hubDir })
	o.endHub = func() { natsserver.Stop(s) }
	o.hub = []string{"--set", "hub.url=" + s.ClientURL(), "--set", "hub.user=" + line.ClusterName, "--set", "hub.passwordFile=" + natsserver.PasswordFile(t)}
	return o
}

// environment has a process tell those who listen.
func (o *outputs) environment() []string {
	return []string{
		"REROLL_NOTIFICATIONS_URL=" + o.alerts.URL,
	}
}

// attend listens to what the line's process tells those who ask, and has a second process call a webhook.
func (o *outputs) attend(r *room) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.ctx, http.MethodGet, r.line.Reroll.API+"/api/v1/events", nil)
	r.must(err)
	response, err := http.DefaultClient.Do(request)
	r.must(err)
	r.t.Cleanup(func() { _ = response.Body.Close() })
	go func() { _, _ = io.Copy(o.events, response.Body) }()

	o.caller, err = line.StartWatching(r.ctx, r.t.TempDir(), "--kubeconfig", r.line.Kube.Kubeconfig(), "--set", "namespace=default", "--webhook-url", o.calls.URL, "--set", "debounce.window=0s", "--log-level", "debug")
	r.must(err)
	r.t.Cleanup(o.caller.Kill)
}

// waitHeard waits until everybody has heard of the changes.
func (o *outputs) waitHeard(r *room) {
	r.t.Helper()
	r.must(line.Poll(r.ctx, func(context.Context) error {
		var errs []error
		for who, e := range map[string]*ear{"alerts": o.alerts, "calls": o.calls} {
			if heard := e.heard(); !bytes.Contains(heard, []byte("password")) || !bytes.Contains(heard, []byte(r.ns)) {
				errs = append(errs, fmt.Errorf("%s have not heard of the Secret", who))
			}
		}
		return errors.Join(errs...)
	}))
}

// said is what was said in one place, and what is certain to be there if it was looked for in the right one.
type said struct {
	text    []byte
	control string
}

// everything returns what Reroll says, by the place where it says it.
func (o *outputs) everything(r *room) map[string]said {
	r.t.Helper()
	places := map[string]said{
		"the log":               {[]byte(r.line.Reroll.Log()), "refused"},
		"the log of the caller": {[]byte(o.caller.Log()), "password"},
		"alerts":                {o.alerts.heard(), "Reloader detected changes in "},
		"calls of the webhook":  {o.calls.heard(), "password"},
		"the stream of events":  {o.events.heard(), "changed"},
	}
	for _, p := range []*line.Reroll{r.line.Reroll, o.caller} {
		metrics, err := p.Metrics(r.ctx)
		r.must(err)
		places["metrics of "+p.API] = said{[]byte(metrics), "reroll_"}
	}
	for path, control := range r.paths() {
		var body rawJSON
		r.must(r.line.Reroll.Get(r.ctx, path, &body))
		places["GET "+path] = said{body, control}
	}
	r.commands(places)
	r.objects(places)
	return places
}

// paths returns all that can be read of the REST API, as its own document lists it, with a word that is in the answer. The
// stream of events does not end, and is listened to.
func (r *room) paths() map[string]string {
	r.t.Helper()
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	r.must(r.line.Reroll.Get(r.ctx, "/openapi.json", &document))
	found := map[string]string{}
	for path, methods := range document.Paths {
		if methods["get"] == nil || path == "/api/v1/events" {
			continue
		}
		for _, place := range r.placesOf(path) {
			found[place] = controls[path]
			if strings.Contains(path, "{name}") {
				found[place] = r.ns
			}
		}
	}
	if len(found) < len(controls) {
		r.t.Errorf("the document lists %d paths, and there are words for %d", len(found), len(controls))
	}
	return found
}

// controls are words that the answers to some paths have for certain.
var controls = map[string]string{
	"/api/v1/changes": "password", "/api/v1/changes/{id}": "password", "/api/v1/reloads": "refused", "/api/v1/reloads/{id}": "refused",
	"/api/v1/workloads": "refused", "/api/v1/clusters": "local",
}

// placesOf returns the paths that one of the document stands for here.
func (r *room) placesOf(path string) []string {
	r.t.Helper()
	places := []string{strings.NewReplacer("{cluster}", line.ClusterName, "{namespace}", r.ns, "{kind}", "Deployment", "{name}", "refused").Replace(path)}
	for i, place := range places {
		switch {
		case strings.HasSuffix(place, "{id}"):
			places[i] = r.idOf(strings.TrimSuffix(place, "/{id}"), controls[path])
		case place == "/api/v1/changes":
			places[i] += "?includeBaselines=true"
		}
	}
	return places
}

// idOf returns the path of an item of a list that has a word.
func (r *room) idOf(list, word string) string {
	r.t.Helper()
	var page struct{ Items []json.RawMessage }
	r.must(r.line.Reroll.Get(r.ctx, list+"?namespace="+r.ns, &page))
	for _, item := range page.Items {
		var named struct{ ID string }
		r.must(json.Unmarshal(item, &named))
		if bytes.Contains(item, []byte(word)) {
			return list + "/" + named.ID
		}
	}
	r.t.Fatalf("%s has nothing about %s", list, word)
	return ""
}

// commands adds what the commands print.
func (r *room) commands(places map[string]said) {
	r.t.Helper()
	binary, err := line.Build(r.ctx)
	r.must(err)
	for command, control := range map[string]string{
		"get changes -o wide": "password", "get reloads -o wide": "refused", "get workloads -o wide": "refused", "get workloads -o yaml": "refused",
		"status": "local", "get clusters -o wide": "local", "check -o json": "local",
		"explain " + r.ns + "/Deployment/refused": "password", "impact " + r.ns + "/Secret/password": "refused",
		"migrate -o json": "refused", "migrate -o wide": "refused",
	} {
		args := strings.Fields(command)
		if strings.HasPrefix(command, "migrate") {
			args = append(args, "--kubeconfig", r.line.Kube.Kubeconfig(), "-n", r.ns)
		} else {
			args = append(args, "--server", r.line.Reroll.API)
		}
		output := runToEnd(r.t, binary, args...) // the code of some says what they found
		places["reroll "+command] = said{[]byte(output), control}
	}
}

// objects adds the objects of the cluster but for those in which the content was planted.
func (r *room) objects(places map[string]said) {
	r.t.Helper()
	for kind, control := range map[string]string{
		"deployments": "STAKATER_PASSWORD_SECRET", "events": "Reloaded", "leases": "", "configmaps": "extension-apiserver-authentication", "secrets": "reroll-digest-key",
	} {
		text, err := r.line.Kube.Kubectl(r.ctx, "get", kind, "--all-namespaces", "--field-selector=metadata.name!=app,metadata.name!=password", "-o", "yaml")
		r.must(err)
		places[kind] = said{[]byte(text), control}
	}
	if _, err := r.client.CoreV1().Secrets(r.ns).Get(r.ctx, "password", metav1.GetOptions{}); err != nil {
		r.t.Error("what was planted is gone:", err)
	}
}

// runToEnd runs a command that ends by itself, and returns what it prints.
func runToEnd(t *testing.T, binary string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("it did not end: %v\n%s", err, output)
	}
	return string(output)
}
