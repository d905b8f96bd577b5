//go:build nightly

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// canary is content of which no eight characters in a row must be found anywhere.
const canary = "q7Zk2vXw9RtB5mNc8LpJ4hGd"

// ear keeps whatever it is sent.
type ear struct {
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

func (e *ear) heard() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.got.String()
}

// refusal makes the API server refuse every write to the Deployment refused, and say how it would be.
const refusal = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refuse}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: [UPDATE]}]}
  matchConditions: [{name: one, expression: 'object.metadata.name == "refused"'}]
  validations: [{expression: "false", messageExpression: "'as it would be: ' + string(object.spec.template.spec.containers[0])"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refuse}
spec: {policyName: refuse, validationActions: [Deny]}
`

// TestNoContentAnywhere plants a value in a ConfigMap and a Secret, has the API server send whole bodies, and looks for the value
// in everything that Reroll says, sends and leaves behind. Of the webhook and of a fleet, tests of notify and tests/fleet look.
func TestNoContentAnywhere(t *testing.T) {
	alerts, stream := &ear{}, &ear{}
	chat := httptest.NewServer(alerts)
	t.Cleanup(chat.Close)
	l := ownLine(t, line.Options{
		Kube:        kube.Options{Audit: &kube.Audit{Level: auditv1.LevelRequestResponse}},
		Flags:       []string{"--set", "debounce.window=0s", "--log-level", "debug"},
		Environment: []string{"REROLL_NOTIFICATIONS_URL=" + chat.URL},
	})
	r := line.NewRoom(t, l)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.Reroll.API+"/api/v1/events", nil)
	r.Must(err)
	response, err := http.DefaultClient.Do(request)
	r.Must(err)
	t.Cleanup(func() { _ = response.Body.Close() })
	go func() { _, _ = io.Copy(stream, response.Body) }()

	r.Config("app", canary)
	r.Secret("password", canary)
	for _, name := range []string{"web", "refused"} {
		r.Deploy(name, line.Auto, line.FromConfigMap("app"), line.FromSecret("password"))
		r.Baselines(name, 2)
	}
	r.KubectlWith(refusal, "apply", "-f", "-")
	r.Await("writes are refused", func(ctx context.Context) error {
		_, err := r.Client().AppsV1().Deployments(r.NS).Patch(ctx, "refused", types.MergePatchType, []byte(`{"metadata":{"labels":{"probe":"x"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil {
			return errors.New("they are not")
		}
		return nil
	})
	r.Edit("app", canary+"-2")
	r.Rolled("web", 1)
	r.EditSecret("password", canary+"-3")
	r.Rolled("web", 2)
	r.AwaitThat("a refusal on record", func() bool {
		for _, reload := range r.Reloads("refused", 1) {
			if reload.Outcome == "Refused" {
				return true
			}
		}
		return false
	})
	r.AwaitThat("an alert about the Secret", func() bool { return strings.Contains(alerts.heard(), "password") })

	places := map[string]said{
		"the log": {l.Reroll.Log(), "refused"}, "alerts": {alerts.heard(), "Reloader detected changes in "}, "the stream of events": {stream.heard(), "changed"},
	}
	metrics, err := l.Reroll.Metrics(t.Context())
	r.Must(err)
	places["metrics"] = said{metrics, "reroll_"}
	answers(r, places)
	commands(r, places)
	objects(r, places)
	for place, said := range places {
		if !strings.Contains(said.text, said.control) {
			t.Errorf("%s does not even have %q: the search proves nothing", place, said.control)
		}
		for _, form := range line.Pieces(canary, []byte(said.text)) {
			t.Errorf("content was found %s in %s", form, place)
		}
	}
	r.Stop()
	found, err := line.PiecesInFiles(l.DataDir(), canary, r.NS)
	r.Must(err)
	for _, form := range found {
		t.Errorf("content was found %s", form)
	}
}

// said is what was said in one place, and what is certain to be there if it was looked for in the right one.
type said struct{ text, control string }

// controls are words that the answers to some paths have for certain.
var controls = map[string]string{
	"/api/v1/changes": "password", "/api/v1/changes/{id}": "password", "/api/v1/reloads": "refused", "/api/v1/reloads/{id}": "refused",
	"/api/v1/workloads": "refused", "/api/v1/clusters": "local",
}

// answers adds all that can be read of the REST API, as its own document lists it, but for the stream of events, which does not end.
func answers(r *line.Room, places map[string]said) {
	r.T.Helper()
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	r.Must(r.Line.Reroll.Get(r.Ctx(), "/openapi.json", &document))
	if len(document.Paths) < len(controls) {
		r.T.Errorf("the document lists %d paths", len(document.Paths))
	}
	for path, methods := range document.Paths {
		if methods["get"] == nil || path == "/api/v1/events" {
			continue
		}
		place := strings.NewReplacer("{cluster}", line.ClusterName, "{namespace}", r.NS, "{kind}", "Deployment", "{name}", "refused").Replace(path)
		control := controls[path]
		if strings.Contains(path, "{name}") {
			control = r.NS
		}
		if list, found := strings.CutSuffix(place, "/{id}"); found {
			place = list + "/" + idOf(r, list, control)
		} else if place == "/api/v1/changes" {
			place += "?includeBaselines=true"
		}
		var body json.RawMessage
		r.Must(r.Line.Reroll.Get(r.Ctx(), place, &body))
		places["GET "+place] = said{string(body), control}
	}
}

// idOf returns the ID of an item of a list that has a word.
func idOf(r *line.Room, list, word string) string {
	r.T.Helper()
	var page struct{ Items []json.RawMessage }
	r.Must(r.Line.Reroll.Get(r.Ctx(), list+"?namespace="+r.NS, &page))
	for _, item := range page.Items {
		var named struct{ ID string }
		r.Must(json.Unmarshal(item, &named))
		if bytes.Contains(item, []byte(word)) {
			return named.ID
		}
	}
	r.T.Fatalf("%s has nothing about %s", list, word)
	return ""
}

// commands adds what the commands print. The code of some says what they found.
func commands(r *line.Room, places map[string]said) {
	for command, control := range map[string]string{
		"get changes -o wide": "password", "get reloads -o wide": "refused", "get workloads -o wide": "refused", "get workloads -o yaml": "refused",
		"status": "local", "get clusters -o wide": "local", "check -o json": "local",
		"explain " + r.NS + "/Deployment/refused": "password", "impact " + r.NS + "/Secret/password": "refused",
		"migrate -o json": "refused", "migrate -o wide": "refused",
	} {
		args := append(strings.Fields(command), "--server", r.Line.Reroll.API)
		if strings.HasPrefix(command, "migrate") {
			args = append(strings.Fields(command), "-n", r.NS)
		}
		output, _ := r.Reroll(args...)
		places["reroll "+command] = said{output, control}
	}
}

// objects adds the objects of the cluster but for those in which the content was planted.
func objects(r *line.Room, places map[string]said) {
	for kind, control := range map[string]string{
		"deployments": "STAKATER_PASSWORD_SECRET", "events": "Reloaded", "leases": "", "configmaps": "extension-apiserver-authentication", "secrets": "reroll-digest-key",
	} {
		places[kind] = said{r.Kubectl("get", kind, "--all-namespaces", "--field-selector=metadata.name!=app,metadata.name!=password", "-o", "yaml"), control}
	}
}
