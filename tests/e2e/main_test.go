package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// shared is the line of all tests that neither stop it nor need other settings. Each test has its own namespace there.
var shared *line.Line

// window is the quiet window of the shared line.
const window = 300 * time.Millisecond

func TestMain(m *testing.M) {
	line.Main(m, &shared, line.Options{Kube: kube.Options{ControlPlaneOnly: true}, Flags: []string{"--set", "debounce.window=" + window.String()}}, nil)
}

// ownLine starts a line for one test, which may stop and break it.
func ownLine(t *testing.T, o line.Options) *line.Line {
	t.Helper()
	o.Kube.ControlPlaneOnly = true
	l, err := line.Start(t.Context(), o)
	line.Must(t, err)
	t.Cleanup(l.Stop)
	return l
}

// TestDeleteCollection: the event of a deletecollection names no object. What it deleted is on record with its author all the same. Other verbs are data
// files of tests/scenarios, and events of what stored nothing those of ingest/audit.
func TestDeleteCollection(t *testing.T) {
	t.Parallel()
	r := line.NewRoom(t, shared)
	r.Config("app", "a")
	r.Deploy("web", line.Auto, line.FromConfigMap("app"))
	r.Baselines("web", 1)
	r.Must(r.Client().CoreV1().ConfigMaps(r.NS).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=app"}))
	r.AwaitThat("the event", func() bool {
		changes, err := shared.Reroll.Changes(t.Context(), r.NS)
		r.Must(err)
		return slices.ContainsFunc(changes, func(c line.Change) bool {
			return c.Type == "Deleted" && len(c.Candidates) == 1 && c.Candidates[0].Verb == "deletecollection" && c.Candidates[0].User != ""
		})
	})
	r.Rolled("web", 0)
}

// TestCausesAndEvent: the record of a reload and its Event say who changed what, and when each step was.
func TestCausesAndEvent(t *testing.T) {
	t.Parallel()
	r := line.NewRoom(t, shared)
	r.Config("app", "a")
	r.Deploy("web", line.Auto, line.FromConfigMap("app"))
	r.Baselines("web", 1)
	r.Kubectl("patch", "configmap", "app", "--type=merge", "-p", `{"data":{"k":"b","new":"n"}}`, "--as=alice@example.com", "--as-group=system:masters")
	r.Rolled("web", 1)
	reload := r.Reloads("web", 1)[0]
	if len(reload.Causes) != 1 || len(reload.Causes[0].Candidates) != 1 {
		t.Fatalf("causes of the reload: %+v", reload.Causes)
	}
	c := reload.Causes[0]
	if who := c.Candidates[0]; who.User != "alice@example.com" || !who.Sure || who.AuditID == "" || who.Verb != "patch" {
		t.Errorf("candidate: %+v", who)
	}
	if len(c.Keys) != 2 || c.Keys[0].Key != "k" || c.Keys[0].Op != "Changed" || c.Keys[1].Key != "new" || c.Keys[1].Op != "Added" || c.OldSum == "" || c.OldSum == c.NewSum {
		t.Errorf("cause: %+v", c)
	}
	if c.RequestedAt.IsZero() || c.ReceivedAt.Before(c.RequestedAt) || c.VerifiedAt.Before(c.ReceivedAt) || reload.DecidedAt.Before(c.VerifiedAt) || reload.PatchedAt.Before(reload.DecidedAt) {
		t.Errorf("times are out of order: %+v", reload)
	}
	r.Await("the Event", func(ctx context.Context) error {
		events, err := r.Client().CoreV1().Events(r.NS).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=web,reason=Reloaded"})
		if err == nil && !slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.Type == corev1.EventTypeNormal && strings.Contains(e.Message, "'app' of type 'CONFIGMAP'") && strings.HasSuffix(e.Message, "; changed by alice@example.com")
		}) {
			err = fmt.Errorf("events %+v", events.Items)
		}
		return err
	})
}

// TestForeignHost: anyone who has their own name lead to the loopback reads nothing of an API that tells nobody apart, which is the default.
func TestForeignHost(t *testing.T) {
	_, port, _ := strings.Cut(strings.TrimPrefix(shared.Reroll.API, "http://"), ":")
	for host, want := range map[string]int{"127.0.0.1:" + port: 200, "localhost:" + port: 200, "localhost:6000": 200, "evil.example": 403, "evil.example:" + port: 403} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, shared.Reroll.API+"/api/v1/changes", nil)
		line.Must(t, err)
		request.Host = host
		response, err := http.DefaultClient.Do(request)
		line.Must(t, err)
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("asked as %s: %s, want %d", host, response.Status, want)
		}
	}
}
